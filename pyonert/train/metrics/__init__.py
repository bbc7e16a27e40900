# SPDX-License-Identifier: Apache-2.0
"""Metrics: `CategoricalAccuracy`, and `Metric` to derive from."""

from pyonert.train.metrics.categorical_accuracy import CategoricalAccuracy
from pyonert.train.metrics.metric import Metric
from pyonert.train.metrics.registry import MetricsRegistry

__all__ = ["CategoricalAccuracy", "Metric", "MetricsRegistry"]
