"""HashedOnce: the base of frozen types that are keys of memoised functions thousands of times per plan."""

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any


class HashedOnce:
    """Computes the hash of the compared fields when it is made; it is no field, so no answer shows it.

    A subclass is a frozen dataclass with slots, and names the method: `__hash__ = HashedOnce.__hash__`.
    """

    __slots__ = ("_hash",)
    _hash: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(_compared(type(self))(self)))  # type: ignore[arg-type]  # a class is hashable

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=64)
def _compared(kind: type[Any]) -> Callable[[Any], Any]:
    return attrgetter(*(field.name for field in fields(kind) if field.compare))
