# SPDX-License-Identifier: Apache-2.0
"""Metrics by name."""

from pyonert.train.metrics.categorical_accuracy import CategoricalAccuracy
from pyonert.train.metrics.metric import Metric
from pyonert.train.registry import Registry

MetricsRegistry: Registry[Metric] = Registry(
    "Metric", {"categorical_accuracy": CategoricalAccuracy}
)
