# SPDX-License-Identifier: Apache-2.0
"""Names for optimizers, losses and metrics: one mechanism for the three."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Turns "adam" or an object into an object.

    Args:
        kind: what the error texts call it, such as "Optimizer".
        classes: class by name.
    """

    def __init__(self, kind: str, classes: Mapping[str, type[T]]) -> None:
        self.kind = kind
        self.classes = dict(classes)

    def create(self, name: str) -> T:
        """Returns a new object with default settings; ValueError for a name that is not known."""
        cls = self.classes.get(name)
        if cls is None:
            raise ValueError(
                f"Unknown {self.kind}: {name}. Custom {self.kind.lower()} is not supported yet. "
                f"Known names are: {sorted(self.classes)}."
            )
        return cls()

    def resolve(self, value: str | T) -> T:
        """Returns the object that a name stands for, or `value` if it is one of the classes.

        Raises:
            ValueError: a name that is not known.
            TypeError: an object of another class.
        """
        if isinstance(value, str):
            return self.create(value)
        if not isinstance(value, tuple(self.classes.values())):
            names = [cls.__name__ for cls in self.classes.values()]
            given = (
                value.__name__ + " (a class)" if isinstance(value, type) else type(value).__name__
            )
            function = " function" if self.kind == "Loss" else ""
            raise TypeError(
                f"Unsupported {self.kind.lower()}{function} type: {given}. "
                f"Supported types are: {names}."
            )
        return value
