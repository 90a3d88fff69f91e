"""Groups of one feed: rows alike in everything that a plan's mask and cost depend on except price and region.

A plan looks at groups, not at rows. Inside a group the rows stand by price (then offer id), so that the first
rows of a group are its best and a price limit is a prefix. The parts of a key (machine kind, seller, terms,
source) are numbered apart, so that a request judges each distinct part once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from service.solver.columns import TEXT, Array, Bools, FeedColumns, Floats, Ints

KIND: Final = (
    "gpu", "form_factor", "gpu_count", "gpu_memory_gb", "interconnect", "fabric", "arch", "is_host", "is_community",
    "min_machines",
)  # fmt: skip
SELLER: Final = ("provider", "tier", "tenancy", "attestations", "country")
TERMS: Final = ("capacity_type", "availability", "price_basis", "term_months")
SOURCE: Final = ("feed", "scope", "is_dated", "as_of", "valid_until")
MONEY: Final = (
    "upfront_usd", "storage_usd_per_gb_month", "egress_usd_per_gb", "ingress_usd_per_gb", "billing_increment_seconds",
    "disk_included_gb", "disk_max_gb", "interruption_low", "interruption_high", "session_limit_hours", "weekly_quota_hours",
)  # fmt: skip
PARTS: Final = {"kind": KIND, "seller": SELLER, "terms": TERMS, "source": SOURCE, "money": MONEY}
_MOST: Final = 2**62


@dataclass(frozen=True, eq=False)
class FeedGroups:
    """The groups of one feed. Group g holds rows `order[starts[g]:starts[g + 1]]`, cheapest first."""

    order: Ints
    starts: Ints
    parts: dict[str, Ints]  # part name -> per group, the row that shows it
    sorted_usd_per_hour: Floats  # along `order`
    twin: Ints  # per row, the cheapest on-demand row of the same machine at the same place; -1: none
    lone: Bools  # per row: under half of every other region's price of the same machine and kind
    representative: Ints  # per group, any row of it


def groups_of(columns: FeedColumns) -> FeedGroups:
    """The feed's groups without any suspect split; derived once per FeedColumns."""
    found = columns.cache.get("groups")
    if found is None:
        found = columns.cache["groups"] = _build(columns)
    return found


def split_by(columns: FeedColumns, marked: Bools) -> FeedGroups:
    """The groups with marked rows parted from unmarked ones (no group mixes them)."""
    groups = groups_of(columns)
    if not marked.any():
        return groups
    sizes = np.diff(groups.starts)
    of_group = np.repeat(np.arange(len(sizes)), sizes)
    key = of_group * 2 + marked[groups.order]
    perm = np.argsort(key, kind="stable")
    key = key[perm]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    order = groups.order[perm]
    return _laid_out(columns, order, np.append(starts, len(key)), groups.twin, groups.lone)


def _build(columns: FeedColumns) -> FeedGroups:
    every = [name for names in PARTS.values() for name in names]
    group_of_row = numbered(columns, every)
    arrays = columns.arrays
    order = np.lexsort((arrays["offer_id"], arrays["usd_per_hour"], group_of_row)).astype(np.int64)
    key = group_of_row[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.int64)
    return _laid_out(columns, order, np.append(starts, len(key)), _twins(columns), _lone(columns))


def _laid_out(columns: FeedColumns, order: Ints, starts: Ints, twin: Ints, lone: Bools) -> FeedGroups:
    representative = order[starts[:-1]]
    parts = {name: _numbered_at(columns, fields, representative) for name, fields in PARTS.items() if name != "money"}
    return FeedGroups(
        order=order,
        starts=starts.astype(np.int64),
        parts=parts,
        sorted_usd_per_hour=columns.usd_per_hour[order],
        twin=twin,
        lone=lone,
        representative=representative,
    )


def numbered(columns: FeedColumns, names: Sequence[str], rows: Ints | None = None) -> Ints:
    """Per row a number that is equal exactly where all the named columns are equal."""
    total = np.zeros(columns.rows if rows is None else len(rows), dtype=np.int64)
    size = 1
    for name in names:
        codes, count = _codes(columns, name, rows)
        if count == 1:
            continue
        if size * count > _MOST:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
            size = int(total.max()) + 1
        total = total * count + codes
        size *= count
    return total


def _numbered_at(columns: FeedColumns, names: Sequence[str], representative: Ints) -> Ints:
    """For each group the first representative row that has the same values in the named columns."""
    numbers = numbered(columns, names, representative)
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return representative[first][inverse]


def _codes(columns: FeedColumns, name: str, rows: Ints | None) -> tuple[Array, int]:
    if name in _FACTS:
        codes = fact(columns, name).astype(np.int64)
        return (codes if rows is None else codes[rows]), 2
    array = columns.arrays[name] if rows is None else columns.arrays[name][rows]
    if name in TEXT:
        return array + np.int64(1), len(columns.words[name]) + 1
    if len(array) == 0 or (array == array[0]).all() or (array.dtype.kind == "f" and np.isnan(array).all()):
        return array, 1
    distinct, codes = np.unique(array, return_inverse=True)
    return codes, len(distinct)


_FACTS: Final = frozenset({"is_host", "is_community"})


def fact(columns: FeedColumns, name: str) -> Bools:
    """Per row, a fact that no column holds: one named host of a marketplace; a machine of the public."""
    if name == "is_host":
        return np.asarray(columns.arrays["machine_id"] >= 0, dtype=np.bool_)
    words = columns.words["tenancy"]
    return np.asarray(
        columns.arrays["tenancy"] == (words.index("community_host") if "community_host" in words else -2), dtype=np.bool_
    )


MACHINE: Final = (
    "provider", "tenancy", "instance_type", "gpu", "form_factor", "gpu_count", "gpu_memory_gb", "machine_id",
)  # fmt: skip


def _twins(columns: FeedColumns) -> Ints:
    """For each spot row the cheapest on-demand row of the same machine at the same place; -1 elsewhere."""
    twin = np.full(columns.rows, -1, dtype=np.int64)
    kinds = columns.words["capacity_type"]
    if "spot" not in kinds or "on_demand" not in kinds:
        return twin
    kind = columns.arrays["capacity_type"]
    spot, listed = np.flatnonzero(kind == kinds.index("spot")), np.flatnonzero(kind == kinds.index("on_demand"))
    places = numbered(columns, (*MACHINE, "country", "region"))
    listed = listed[np.lexsort((columns.arrays["offer_id"][listed], columns.arrays["usd_per_hour"][listed], places[listed]))]
    at = np.searchsorted(places[listed], places[spot], side="left")
    at_most = np.minimum(at, len(listed) - 1)
    same = places[listed[at_most]] == places[spot]
    twin[spot[same]] = listed[at_most[same]]
    return twin


def _lone(columns: FeedColumns) -> Bools:
    """Rows whose price is under half of the lowest price in every other region of the same machine and kind.

    A list price needs one other region to be judged by, a spot price two, since spot prices differ by place.
    Marketplace hosts set their own prices and are not compared with each other.
    """
    lone = np.zeros(columns.rows, dtype=np.bool_)
    arrays = columns.arrays
    rows = np.flatnonzero((arrays["machine_id"] < 0) & (arrays["region"] >= 0) & (arrays["instance_type"] >= 0))
    if len(rows) == 0:
        return lone
    shape = numbered(columns, (*MACHINE, "tier", "capacity_type", "term_months", "is_dated"))[rows]
    price = arrays["usd_per_hour"][rows]
    region = arrays["region"][rows]
    by_region = np.lexsort((price, region, shape))
    new = _changes(shape[by_region], region[by_region])
    lows = by_region[new]  # the cheapest row of each shape and region
    ranked = lows[np.lexsort((price[lows], shape[lows]))]
    first = np.flatnonzero(_changes(shape[ranked]))
    counts = np.diff(np.append(first, len(ranked)))
    spot_code = columns.words["capacity_type"].index("spot") if "spot" in columns.words["capacity_type"] else -2
    needed = np.where(arrays["capacity_type"][rows[ranked[first]]] == spot_code, 3, 2)
    first = first[counts >= needed]
    first = first[2 * price[ranked[first]] < price[ranked[np.minimum(first + 1, len(ranked) - 1)]]]
    limit = {
        (int(shape[at]), int(region[at])): float(price[after]) / 2
        for at, after in zip(ranked[first], ranked[np.minimum(first + 1, len(ranked) - 1)], strict=True)
    }
    for (of_shape, of_region), under in limit.items():
        lone[rows[(shape == of_shape) & (region == of_region) & (price < under)]] = True
    return lone


def _changes(*keys: Array) -> Bools:
    """True at the first of each run of equal keys."""
    if len(keys[0]) == 0:
        return np.zeros(0, dtype=np.bool_)
    differs = np.zeros(len(keys[0]) - 1, dtype=np.bool_)
    for key in keys:
        differs |= key[1:] != key[:-1]
    return np.concatenate(([True], differs))


def values_at(columns: FeedColumns, names: Sequence[str], row: int) -> tuple[Any, ...]:
    """The named columns of one row as Python values, None where unknown."""
    found: list[Any] = []
    for name in names:
        if name in _FACTS:
            found.append(bool(fact(columns, name)[row]))
        elif name in TEXT:
            found.append(columns.text(name, row))
        elif name in ("as_of", "valid_until"):
            found.append(columns.day(name, row))
        elif name == "is_dated":
            found.append(bool(columns.arrays[name][row]))
        else:
            found.append(columns.number(name, row))
    return tuple(found)
