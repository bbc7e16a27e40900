# SPDX-License-Identifier: Apache-2.0
"""Inference: `pyonert.infer.session(path).infer([array, ...])`."""

from pyonert.infer.session import session

__all__ = ["session"]
