"""HashedOnce: the base of frozen types that are keys of memoised functions thousands of times per plan."""

from dataclasses import fields


class HashedOnce:
    """Computes the hash of the compared fields when it is made; it is no field, so no answer shows it.

    A subclass is a frozen dataclass with slots, and names the method: `__hash__ = HashedOnce.__hash__`.
    """

    __slots__ = ("_hash",)
    _hash: int

    def __post_init__(self) -> None:
        compared = tuple(getattr(self, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]  # always a dataclass
        object.__setattr__(self, "_hash", hash(compared))

    def __hash__(self) -> int:
        return self._hash
