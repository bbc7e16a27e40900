# SPDX-License-Identifier: Apache-2.0
"""`python -m pyonert`: the same as the command `pyonert`."""

import sys

from pyonert.cli import main

sys.exit(main())
