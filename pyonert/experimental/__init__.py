# SPDX-License-Identifier: Apache-2.0
"""The name that onert has for training: `pyonert.experimental.train` is `pyonert.train`."""

import sys

from pyonert import train

# Registered, so that `import pyonert.experimental.train.losses` finds the same modules.
_prefix = train.__name__
for _name in [n for n in sys.modules if n == _prefix or n.startswith(_prefix + ".")]:
    sys.modules[__name__ + _name[len("pyonert") :]] = sys.modules[_name]

__all__ = ["train"]
