# SPDX-License-Identifier: Apache-2.0
"""Records and enumerations of the C API: tensorinfo, traininfo, and the numbers they hold.

Class and member names are the published ones of onert's binding, lower case included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

MAX_RANK = 6

# Name of a dtype <-> NNFW_TYPE. 2 (QUANT8_ASYMM) is what an unsigned byte of a model file reads as.
DTYPE_NAMES: dict[int, str] = {
    0: "float32",
    1: "int32",
    2: "uint8",
    3: "bool",
    4: "uint8",
    5: "int64",
    6: "int8",
    7: "int16",
}
DTYPE_CODES: dict[str, int] = {
    "float32": 0,
    "int32": 1,
    "bool": 3,
    "uint8": 4,
    "int64": 5,
    "int8": 6,
    "int16": 7,
}
DTYPES: dict[str, np.dtype[np.generic]] = {name: np.dtype(name) for name in DTYPE_CODES}


class _Code(IntEnum):
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class loss(_Code):
    """NNFW_TRAIN_LOSS."""

    UNDEFINED = 0
    MEAN_SQUARED_ERROR = 1
    CATEGORICAL_CROSSENTROPY = 2


class loss_reduction(_Code):
    """NNFW_TRAIN_LOSS_REDUCTION: how the losses of a batch become one number."""

    UNDEFINED = 0
    SUM_OVER_BATCH_SIZE = 1
    SUM = 2


class optimizer(_Code):
    """NNFW_TRAIN_OPTIMIZER."""

    UNDEFINED = 0
    SGD = 1
    ADAM = 2


class trainable_ops(_Code):
    """Special values of num_of_trainable_ops; N > 0 trains the last N operators of the file."""

    INCORRECT_STATE = -2
    ALL = -1
    NONE = 0


class prepare_config(_Code):
    """NNFW_PREPARE_CONFIG."""

    PREPARE_CONFIG_PROFILE = 0
    ENABLE_INTERNAL_OUTPUT_ALLOC = 1


class tensorinfo:
    """Element type and shape of a model's input or output.

    Attributes:
        dtype: "float32", "int32", "uint8", "bool", "int64", "int8" or "int16"; "" when not known.
        rank: number of dimensions, 0 to 6.
        dims: the sizes, -1 where the model leaves one open. Assigning a sequence sets `rank`, too.
    """

    __slots__ = ("_dims", "dtype")

    def __init__(self, dtype: str = "", dims: Sequence[int] = ()) -> None:
        self.dtype = dtype
        self._dims: list[int] = []
        self.dims = list(dims)

    @property
    def rank(self) -> int:
        return len(self._dims)

    @rank.setter
    def rank(self, value: int) -> None:
        if not 0 <= value <= MAX_RANK:
            raise ValueError(f"tensorinfo rank must be 0 to {MAX_RANK}, was {value}")
        self._dims = (self._dims + [0] * value)[:value]

    @property
    def dims(self) -> list[int]:
        return list(self._dims)

    @dims.setter
    def dims(self, value: Sequence[int]) -> None:
        dims = [int(d) for d in value]
        if len(dims) > MAX_RANK:
            raise ValueError(f"tensorinfo dims must be at most {MAX_RANK}, were {len(dims)}")
        self._dims = dims

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tensorinfo):
            return NotImplemented
        return self.dtype == other.dtype and self._dims == other._dims

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"tensorinfo(dtype={self.dtype!r}, dims={self._dims})"


# Inside a record the field `loss` hides the enumeration of that name.
_Loss = loss
_LossReduction = loss_reduction


@dataclass
class lossinfo:
    """Which loss, and how it is reduced over a batch (nnfw_loss_info)."""

    loss: _Loss = _Loss.UNDEFINED
    reduction_type: _LossReduction = _LossReduction.UNDEFINED


def _default_loss() -> lossinfo:
    return lossinfo(_Loss.MEAN_SQUARED_ERROR, _LossReduction.SUM_OVER_BATCH_SIZE)


@dataclass
class traininfo:
    """What a training session is prepared with (nnfw_train_info).

    Attributes:
        learning_rate: step length, > 0.
        batch_size: samples of a full batch, >= 1.
        loss_info: loss and reduction.
        opt: optimizer.
        num_of_trainable_ops: -1 all, 0 none, N > 0 the last N operators of the model file.
    """

    learning_rate: float = 0.001
    batch_size: int = 1
    loss_info: lossinfo = field(default_factory=_default_loss)
    opt: optimizer = optimizer.SGD
    num_of_trainable_ops: int = 0
