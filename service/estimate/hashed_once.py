"""HashedOnce: the base of frozen types that are keys of memoised functions thousands of times per plan."""

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedOnce:
    """Computes the hash of the compared fields when it is made. A subclass names it: `__hash__ = HashedOnce.__hash__`."""

    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        compared = tuple(getattr(self, one.name) for one in fields(self) if one.compare)
        object.__setattr__(self, "_hash", hash(compared))

    def __hash__(self) -> int:
        return self._hash
