# SPDX-License-Identifier: Apache-2.0
"""What inference and training sessions share."""

from pyonert.common.basesession import BaseSession, num_elems

__all__ = ["BaseSession", "num_elems"]
