# SPDX-License-Identifier: Apache-2.0
"""Names of onert's native module, for scripts that import from it."""

from __future__ import annotations

from pyonert._convert import StrPath
from pyonert._session import NnfwSession
from pyonert.native import (
    loss,
    loss_reduction,
    lossinfo,
    optimizer,
    prepare_config,
    tensorinfo,
    trainable_ops,
    traininfo,
)
from pyonert.native.libnnfw_api_pybind import exception, train


class nnfw_session(NnfwSession):
    """A session with a model loaded into it."""

    def __init__(self, package_file_path: StrPath, backends: str) -> None:
        super().__init__()
        try:
            self.load_model_from_file(package_file_path)
            self.set_available_backends(backends)
        except BaseException:
            self.close()
            raise

    def train(self, update_weights: bool = True) -> None:
        """Same as train_run."""
        self.train_run(update_weights)


__all__ = [
    "exception",
    "loss",
    "loss_reduction",
    "lossinfo",
    "nnfw_session",
    "optimizer",
    "prepare_config",
    "tensorinfo",
    "train",
    "trainable_ops",
    "traininfo",
]
