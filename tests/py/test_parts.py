# SPDX-License-Identifier: Apache-2.0
"""Optimizers, losses, metrics, records and enumerations, without a session."""

import numpy as np
import pytest

from pyonert import native, tensorinfo
from pyonert.native._capi import lib
from pyonert.train.losses import (
    CategoricalCrossentropy,
    LossFunction,
    LossRegistry,
    MeanSquaredError,
)
from pyonert.train.metrics import CategoricalAccuracy, Metric, MetricsRegistry
from pyonert.train.optimizer import SGD, Adam, Optimizer, OptimizerRegistry, trainable_ops


@pytest.mark.parametrize(
    ("cls", "prefix"),
    [
        (native.loss, "NNFW_TRAIN_LOSS_"),
        (native.loss_reduction, "NNFW_TRAIN_LOSS_REDUCTION_"),
        (native.optimizer, "NNFW_TRAIN_OPTIMIZER_"),
        (native.trainable_ops, "NNFW_TRAIN_TRAINABLE_"),
        (native.prepare_config, "NNFW_"),
    ],
)
def test_enumerations_are_those_of_the_header(cls, prefix):
    for name, member in cls.__members__.items():
        assert getattr(lib, prefix + name) == member.value == int(member)
        assert cls(member.value) is member and str(member) == f"{cls.__name__}.{name}"


def test_dtypes_are_those_of_the_header():
    from pyonert.native.types import DTYPE_CODES, DTYPE_NAMES

    codes = {
        "float32": lib.NNFW_TYPE_TENSOR_FLOAT32,
        "int32": lib.NNFW_TYPE_TENSOR_INT32,
        "bool": lib.NNFW_TYPE_TENSOR_BOOL,
        "uint8": lib.NNFW_TYPE_TENSOR_UINT8,
        "int64": lib.NNFW_TYPE_TENSOR_INT64,
        "int8": lib.NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
        "int16": lib.NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED,
    }
    assert codes == DTYPE_CODES
    assert {**{v: k for k, v in codes.items()}, lib.NNFW_TYPE_TENSOR_QUANT8_ASYMM: "uint8"} == (
        DTYPE_NAMES
    )


def test_tensorinfo():
    info = tensorinfo()
    assert (info.dtype, info.rank, info.dims) == ("", 0, [])
    info.dims = [1, -1]
    assert info.rank == 2
    info.rank = 3
    assert info.dims == [1, -1, 0]
    assert info == tensorinfo("", [1, -1, 0]) != tensorinfo("int32", [1, -1, 0])
    with pytest.raises(ValueError, match="at most 6"):
        info.dims = [1] * 7
    with pytest.raises(ValueError, match="0 to 6"):
        info.rank = 7


def test_record_defaults():
    loss = native.lossinfo()
    assert loss.loss.name == loss.reduction_type.name == "UNDEFINED"
    info = native.traininfo()
    assert (info.learning_rate, info.batch_size, info.num_of_trainable_ops) == (0.001, 1, 0)
    assert info.loss_info.loss is native.loss.MEAN_SQUARED_ERROR
    assert info.loss_info.reduction_type is native.loss_reduction.SUM_OVER_BATCH_SIZE
    assert info.opt is native.optimizer.SGD
    assert native.traininfo().loss_info is not info.loss_info


def test_optimizers():
    assert (SGD().learning_rate, SGD().momentum, SGD().velocity) == (0.001, 0.0, None)
    assert SGD().nums_trainable_ops == trainable_ops.ALL == -1
    adam = Adam(0.1, 0.8, 0.9, 1e-3, nums_trainable_ops=2)
    assert (adam.beta1, adam.beta2, adam.epsilon, adam.nums_trainable_ops) == (0.8, 0.9, 1e-3, 2)
    with pytest.raises(NotImplementedError, match="Momentum is not supported"):
        SGD(momentum=0.9)


def test_registries():
    assert type(OptimizerRegistry.resolve("adam")) is Adam
    assert type(LossRegistry.resolve("mean_squared_error")) is MeanSquaredError
    assert type(LossRegistry.resolve("categorical_crossentropy")) is CategoricalCrossentropy
    assert type(MetricsRegistry.create("categorical_accuracy")) is CategoricalAccuracy
    sgd = SGD()
    assert OptimizerRegistry.resolve(sgd) is sgd
    with pytest.raises(
        ValueError, match="Unknown Optimizer: rmsprop. Custom optimizer is not supported yet"
    ):
        OptimizerRegistry.resolve("rmsprop")
    with pytest.raises(ValueError, match="Unknown Loss: hinge. Custom loss is not supported yet"):
        LossRegistry.resolve("hinge")
    with pytest.raises(ValueError, match="Unknown Metric: f1. Custom metric is not supported yet"):
        MetricsRegistry.create("f1")
    with pytest.raises(TypeError, match="Unsupported optimizer type: Optimizer. Supported"):
        OptimizerRegistry.resolve(Optimizer())
    with pytest.raises(TypeError, match=r"Unsupported optimizer type: SGD \(a class\)"):
        OptimizerRegistry.resolve(SGD)
    with pytest.raises(TypeError, match="Unsupported loss function type: LossFunction"):
        LossRegistry.resolve(LossFunction())


def test_loss_reduction():
    assert MeanSquaredError().reduction is native.loss_reduction.SUM_OVER_BATCH_SIZE
    assert MeanSquaredError("sum").reduction is native.loss_reduction.SUM
    with pytest.raises(ValueError, match=r"Choose from \['mean', 'sum'\]"):
        CategoricalCrossentropy(reduction="none")


def test_accuracy():
    m = CategoricalAccuracy()
    assert m.result() == 0.0
    m.update_state([np.array([[0.1, 0.9], [0.8, 0.2]])], [np.array([[0, 1], [0, 1]])])
    m.update_state([np.array([[1.0, 0.0]])], [np.array([[1.0, 0.0]])])
    assert (m.correct, m.total) == (2, 3) and m.result() == pytest.approx(2 / 3)
    m.reset_state()
    assert m.result() == 0.0


def test_accuracy_along_another_axis():
    m = CategoricalAccuracy(axis=1)
    m.update_state([np.array([[0.1, 0.8], [0.9, 0.2]])], [np.array([[0, 0], [1, 1]])])
    assert (m.correct, m.total) == (1, 2)


def test_accuracy_refuses():
    m = CategoricalAccuracy()
    with pytest.raises(ValueError, match="Got 1 outputs and 2 expecteds"):
        m.update_state([np.zeros((1, 2))], [np.zeros((1, 2))] * 2)
    with pytest.raises(ValueError, match="must match along the specified axis 0"):
        m.update_state([np.zeros((1, 2))], [np.zeros((2, 2))])


def test_base_metric():
    m = Metric()
    for call in (m.reset_state, m.result, lambda: m.update_state([], [])):
        with pytest.raises(NotImplementedError):
            call()
