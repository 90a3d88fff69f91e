"""Memo: results of pure functions of one immutable object, kept with it and gone with it; never an answer.

A market lives until the next one, and memory beyond it would be a leak; `lru_cache` on functions of a market would hold
the last ones. What is kept is what requests share that differ in their work: masks, rows as they are shown, ages.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """A table of at most `most` results; the oldest makes room. Threads may race: at worst one works a result out again."""

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._found: dict[Hashable, Any] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result under this key; made, and kept, where there is none."""
        found: T | None = self._found.get(key)
        if found is None:
            found = make()
            while len(self._found) >= self._most:
                self._forget_oldest()
            self._found[key] = found
        return found

    def _forget_oldest(self) -> None:
        try:
            self._found.pop(next(iter(self._found)), None)
        except (StopIteration, RuntimeError):  # another thread was faster
            return
