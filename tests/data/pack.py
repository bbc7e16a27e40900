# SPDX-License-Identifier: Apache-2.0
"""Packs recorded data into the archives that the tests read.

    python tests/data/pack.py FOLDER_WITH_GOLDEN_AND_MODELS

The folder holds golden/train (training runs of onert 0.1.0) and models (exported models with
outputs and gradients of the frameworks they come from). Archives come out the same from the same
files.
"""

import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
MODELS = ("f_mnist_dense", "f_mnist_cnn", "t_mnist_cnn", "t_resnet_tiny")


def pack(archive: Path, root: Path, files: list[Path]) -> None:
    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o644
        return info

    with tarfile.open(archive, "w:xz", format=tarfile.USTAR_FORMAT) as tar:
        for file in sorted(files):
            tar.add(file, str(file.relative_to(root)), filter=anonymous)
    print(archive, archive.stat().st_size)


def main(folder: Path) -> None:
    golden = folder / "golden" / "train"
    files = [p for p in golden.rglob("*") if p.is_file() and "tools" not in p.parts]
    pack(HERE / "golden.tar.xz", golden, files)
    models = folder / "models"
    files = [p for name in MODELS for p in models.glob(f"{name}.*")]
    pack(HERE / "models.tar.xz", models, files)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
