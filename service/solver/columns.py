"""FeedColumns: all offers of one feed as immutable NumPy columns, with text dictionary-coded, and their packed form.

One schema says how every field of an Offer is held: text as codes into a vocabulary (-1 is None), money as
whole micro-dollars, times as whole microseconds since 1970, days as ordinals, other numbers as float64 (NaN is None).
The packed form is a JSON header and the raw columns, so that loading copies nothing and imports no ORM.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from providers.errors import InvalidInput
from providers.offer import Arch, Availability, CapacityType, Fabric, Interconnect, Offer, PriceBasis, Tenancy
from providers.units import micro_usd, usd_from_micro

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAGIC: Final = b"GPUC\x01"
ABSENT: Final = -1  # None in a text, money, day or count column: none of them is negative
_SPLIT: Final = "\x1f"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

TEXT: Final = (
    "feed", "provider", "tier", "instance_type", "gpu", "capacity_type", "tenancy", "region", "zone", "country",
    "machine_id", "price_basis", "gpu_raw_name", "form_factor", "interconnect", "fabric", "arch", "availability",
    "interruption_source", "source", "scope", "attestations", "notes",
)  # fmt: skip
NUMBER: Final = (
    "gpu_count", "gpu_memory_gb", "gpu_memory_reported_mib", "term_months", "min_machines", "vcpus", "memory_gib",
    "disk_included_gb", "disk_max_gb", "reliability_fraction", "host_lifetime_hours", "session_limit_hours",
    "weekly_quota_hours", "interruption_low", "interruption_high",
)  # fmt: skip
MONEY: Final = ("usd_per_hour", "upfront_usd", "storage_usd_per_gb_month", "egress_usd_per_gb", "ingress_usd_per_gb")
DAY: Final = ("as_of", "valid_until")
OTHER: Final = ("billing_increment_seconds", "is_dated", "observed_at", "offer_id")

_ENUMS: Final[dict[str, Callable[[str], Any]]] = {
    "capacity_type": CapacityType, "tenancy": Tenancy, "price_basis": PriceBasis, "interconnect": Interconnect,
    "fabric": Fabric, "arch": Arch, "availability": Availability,
}  # fmt: skip
_INTERRUPTION: Final = {"interruption_low": 0, "interruption_high": 1}


@dataclass(frozen=True, eq=False)
class FeedColumns:
    """One feed's offers, column by column. Never written to after it is made; equal only to itself."""

    rows: int
    arrays: dict[str, Array]
    words: dict[str, tuple[str, ...]]  # the vocabulary of each text column
    cache: dict[str, Any] = field(default_factory=dict, repr=False)  # what groups.py derives once from these columns

    def text(self, name: str, row: int) -> str | None:
        """A text column's value; None where the offer has none."""
        code = int(self.arrays[name][row])
        return None if code < 0 else self.words[name][code]

    def number(self, name: str, row: int) -> float | None:
        """A float column's value; None where it is unknown."""
        value = float(self.arrays[name][row])
        return None if value != value else value

    @cached_property
    def usd_per_hour(self) -> Floats:
        """Prices of whole machines in dollars: what the solver computes with."""
        return self.arrays["usd_per_hour"] / 1e6

    def offer(self, row: int) -> Offer:
        """The row as an Offer again, exact."""
        values: dict[str, Any] = {name: self.text(name, row) for name in TEXT}
        for name, enum in _ENUMS.items():
            values[name] = enum(values[name])
        values["attestations"] = frozenset(_parts(values["attestations"]))
        values["notes"] = _parts(values["notes"])
        for name in NUMBER:
            values[name] = self.number(name, row)
        values["min_machines"] = int(values["min_machines"])
        low, high = values.pop("interruption_low"), values.pop("interruption_high")
        values["interruption_fraction_per_month"] = None if low is None else (low, high)
        for name in MONEY:
            micro = int(self.arrays[name][row])
            values[name] = None if micro < 0 else usd_from_micro(micro)
        for name in DAY:
            values[name] = self.day(name, row)
        step = int(self.arrays["billing_increment_seconds"][row])
        values["billing_increment_seconds"] = None if step < 0 else step
        values["is_dated"] = bool(self.arrays["is_dated"][row])
        values["observed_at"] = self.observed_at(row)
        return Offer(**values)

    def day(self, name: str, row: int) -> date | None:
        """A day column's value; None where it is unknown."""
        ordinal = int(self.arrays[name][row])
        return None if ordinal < 0 else date.fromordinal(ordinal)

    def observed_at(self, row: int) -> datetime:
        """When the row was read, aware UTC."""
        return datetime_from_micros(int(self.arrays["observed_at"][row]))

    def offer_id(self, row: int) -> str:
        """The offer's id, as Offer.offer_id gives it."""
        return f"{int(self.arrays['offer_id'][row]):016x}"


@lru_cache(maxsize=65_536)
def datetime_from_micros(micros: int) -> datetime:
    """Microseconds since 1970 to an aware UTC time, exact."""
    return _EPOCH + timedelta(microseconds=micros)


def micros_from_datetime(moment: datetime) -> int:
    """An aware time to microseconds since 1970, exact."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def columns_of(offers: Sequence[Offer], *, offer_ids: Sequence[str] | None = None) -> FeedColumns:
    """The offers as columns, in their order; `offer_ids` spares working their ids out again."""
    arrays: dict[str, Array] = {}
    words: dict[str, tuple[str, ...]] = {}
    for name in TEXT:
        arrays[name], words[name] = _coded(_text_values(offers, name))
    for name in NUMBER:
        arrays[name] = np.array(_numbers(offers, name), dtype=np.float64)
    for name in MONEY:
        arrays[name] = _micros(list(map(attrgetter(name), offers)))
    for name in DAY:
        days = list(map(attrgetter(name), offers))
        arrays[name] = np.array([ABSENT if day is None else day.toordinal() for day in days], dtype=np.int32)
    steps = [ABSENT if offer.billing_increment_seconds is None else offer.billing_increment_seconds for offer in offers]
    arrays["billing_increment_seconds"] = np.array(steps, dtype=np.int32)
    arrays["is_dated"] = np.array([offer.is_dated for offer in offers], dtype=np.bool_)
    arrays["observed_at"] = np.array([micros_from_datetime(offer.observed_at) for offer in offers], dtype=np.int64)
    ids = [offer.offer_id for offer in offers] if offer_ids is None else offer_ids
    arrays["offer_id"] = np.array([int(offer_id, 16) for offer_id in ids], dtype=np.uint64)
    for array in arrays.values():
        array.flags.writeable = False
    return FeedColumns(rows=len(offers), arrays=arrays, words=words)


def pack_offers(offers: Sequence[Offer]) -> bytes:
    """The offers as one blob that `unpack` reads without copying."""
    return pack(columns_of(offers))


def pack(columns: FeedColumns) -> bytes:
    """The columns as one blob: magic, header length, JSON header, raw columns."""
    header = {
        "rows": columns.rows,
        "columns": [[name, array.dtype.str] for name, array in columns.arrays.items()],
        "words": columns.words,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(MAGIC) + 4 + len(text)) % 8)
    parts = [MAGIC, len(text).to_bytes(4, "little"), text]
    for array in columns.arrays.values():
        raw = np.ascontiguousarray(array).tobytes()
        parts += [raw, b"\0" * (-len(raw) % 8)]
    return b"".join(parts)


def unpack(blob: bytes) -> FeedColumns:
    """The columns of a blob made by `pack`; they share its memory.

    Raises:
        InvalidInput: the blob is not one of ours, or cut off.
    """
    start = len(MAGIC) + 4
    if blob[: len(MAGIC)] != MAGIC or len(blob) < start:
        raise InvalidInput("not a packed feed of this version")
    size = int.from_bytes(blob[len(MAGIC) : start], "little")
    try:
        header = json.loads(blob[start : start + size])
        rows, at, arrays = int(header["rows"]), start + size, {}
        for name, dtype in header["columns"]:
            array = np.frombuffer(blob, dtype=np.dtype(dtype), count=rows, offset=at)
            arrays[name] = array
            at += array.nbytes + -array.nbytes % 8
        words = {name: tuple(column) for name, column in header["words"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput("the packed feed is cut off or damaged") from error
    if missing := {*TEXT, *NUMBER, *MONEY, *DAY, *OTHER} - arrays.keys():
        raise InvalidInput(f"the packed feed lacks {', '.join(sorted(missing))}")
    return FeedColumns(rows=rows, arrays=arrays, words=words)


def _text_values(offers: Sequence[Offer], name: str) -> list[str | None]:
    if name == "attestations":
        return [_SPLIT.join(sorted(offer.attestations)) or None for offer in offers]
    if name == "notes":
        return [_SPLIT.join(offer.notes) or None for offer in offers]
    # The plain text of an enum: a member's own hash and str are Python calls, and there are millions of values.
    return list(map(attrgetter(f"{name}._value_" if name in _ENUMS else name), offers))


def _coded(values: Sequence[str | None]) -> tuple[Array, tuple[str, ...]]:
    """Codes and their words, in order of first appearance."""
    words = tuple(value for value in dict.fromkeys(values) if value is not None)
    codes: dict[str | None, int] = {word: code for code, word in enumerate(words)}
    codes[None] = ABSENT
    return np.fromiter(map(codes.__getitem__, values), dtype=np.int32, count=len(values)), words


def _numbers(offers: Sequence[Offer], name: str) -> list[float | None]:
    side = _INTERRUPTION.get(name)
    if side is None:
        return list(map(attrgetter(name), offers))
    return [None if (band := offer.interruption_fraction_per_month) is None else band[side] for offer in offers]


def _micros(amounts: Sequence[Decimal | None]) -> Ints:
    """Whole micro-dollars; equal prices are worked out once, for a catalogue has far fewer prices than offers."""
    worked_out = {usd: ABSENT if usd is None else micro_usd(usd) for usd in set(amounts)}
    return np.fromiter(map(worked_out.__getitem__, amounts), dtype=np.int64, count=len(amounts))


def _parts(joined: str | None) -> tuple[str, ...]:
    return tuple(joined.split(_SPLIT)) if joined else ()
