#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the handwritten digits of `pyonert demo` into pyonert/demo/digits.npz.

    pip install scikit-learn numpy
    python tools/make_demo_data.py pyonert/demo/digits.npz

1,797 images of 8x8 pixels, uint8 0 to 16, in the order of the source: E. Alpaydin and C. Kaynak,
"Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, its test set as scikit-learn carries it; licence CC BY 4.0.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits


def main(out: Path) -> None:
    """Writes the file; equal bytes at every run."""
    digits = load_digits()
    arrays = {
        "images": digits.images.astype(np.uint8),
        "labels": digits.target.astype(np.uint8),
    }
    # np.savez stamps the time of day into the archive.
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, buffer.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
