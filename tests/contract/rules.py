"""What every adapter must keep to when its provider's answer changes: each rule raises AssertionError where it is broken."""

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from providers.base import Adapter
from providers.errors import ProviderPayloadInvalid
from providers.gpus import GPUS
from providers.offer import Batch, CapacityType, Offer, Rejected

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
PER_PATTERN = 2  # of the places that look alike (row 1, row 2, ...) so many are changed
Json = Any
Path = tuple[Any, ...]


def assert_valid(batch: Batch, *, feed: str) -> None:
    """Whatever was read, each offer can be stored and solved over, and each refusal says what and why."""
    assert len({o.offer_id for o in batch.offers}) == len(batch.offers)
    for offer in batch.offers:
        assert isinstance(offer, Offer)
        assert offer.feed == feed
        assert isinstance(offer.usd_per_hour, Decimal)
        assert offer.usd_per_hour.is_finite()
        assert (offer.usd_per_hour == 0) == (offer.capacity_type is CapacityType.FREE_TIER)
        assert offer.usd_per_hour >= 0
        assert offer.gpu in GPUS
        assert offer.gpu_count > 0
        assert 0 < offer.gpu_memory_gb <= GPUS[offer.gpu].memory_gb
        assert offer.observed_at.utcoffset() is not None
        assert offer.provider
        assert offer.tier or offer.is_dated  # a seller of a price list that is not known here has no tier
        assert offer.source
        assert offer.country is None or (len(offer.country) == 2 and offer.country.isupper())
        for amount in (offer.storage_usd_per_gb_month, offer.egress_usd_per_gb, offer.ingress_usd_per_gb, offer.upfront_usd):
            assert amount is None or (isinstance(amount, Decimal) and amount.is_finite() and amount >= 0)
        for size in (offer.vcpus, offer.memory_gib, offer.disk_included_gb, offer.disk_max_gb, offer.host_lifetime_hours):
            assert size is None or size >= 0
        assert type(offer.min_machines) is int
        assert offer.min_machines >= 1
        for limit in (offer.session_limit_hours, offer.weekly_quota_hours):
            assert limit is None or limit > 0
    for refusal in batch.rejected:
        assert isinstance(refusal, Rejected)
        assert refusal.reason
        assert refusal.row


def same_twice(adapter: Adapter, payload: Json) -> None:
    """One payload, one batch; the payload is left as it is."""
    given = copy.deepcopy(payload)
    first = adapter.parse(given, NOW)
    assert repr(given) == repr(payload), "parse changed its input"
    assert adapter.parse(copy.deepcopy(payload), NOW) == first, "the same payload gave another batch"


def no_field_is_missed_in_silence(
    adapter: Adapter, payload: Json, *, envelope: int, optional: frozenset[str], named: frozenset[str]
) -> None:
    """A field that is gone costs a counted refusal or the whole catalogue, never a crash, a free machine or a quiet loss.

    Fields in `optional` (the last names of their path joined by dots, rows as *) may take an offer along without a word:
    by their absence the provider says that it does not sell it.
    `named` are fields that hold rows under their names: a row that is gone is no field.
    """
    good = adapter.parse(copy.deepcopy(payload), NOW)
    for path in places(payload, lambda parent, _: isinstance(parent, dict), envelope=envelope):
        batch = _parsed(adapter, changed(payload, path, _remove), path)
        if batch is None:
            continue
        assert_valid(batch, feed=adapter.name)
        if _ending(path) & optional or (path[-2:-1] and path[-2] in named):
            continue
        is_counted = len(batch.rejected) > len(good.rejected) or set(batch.failed_scopes) > set(good.failed_scopes)
        assert len(batch.offers) >= len(good.offers) or is_counted, f"offers were lost without a word: {path}"


def unknown_fields_are_ignored(adapter: Adapter, payload: Json, *, envelope: int) -> None:
    """A field that the provider adds changes no offer."""
    good = adapter.parse(copy.deepcopy(payload), NOW)
    whole = copy.deepcopy(payload)
    for path, value in list(walk(whole)):
        if len(path) > envelope and isinstance(value, dict) and value:
            value["an_unknown_field"] = {"of": ["a", 1, None]}
    assert adapter.parse(whole, NOW).offers == good.offers, "an unknown field changed the offers"


def numbers_that_are_none_make_no_price(adapter: Adapter, payload: Json, *, envelope: int) -> None:
    """NaN, infinity, 1e999, a negative number: counted, or no matter to the offers; each offer is still a valid one."""
    for path in places(payload, lambda _, value: _is_number(value), envelope=envelope):
        for junk in (float("nan"), float("inf"), float("-inf"), Decimal("1e999"), -1):
            batch = _parsed(adapter, changed(payload, path, lambda parent, key, junk=junk: _put(parent, key, junk)), path)
            if batch is not None:
                assert_valid(batch, feed=adapter.name)


def repeated_rows_add_nothing(adapter: Adapter, payload: Json, *, envelope: int) -> None:
    """Rows that come twice (a page read twice, an id given twice) make no second offer and change no price."""
    good = adapter.parse(copy.deepcopy(payload), NOW)
    whole = copy.deepcopy(payload)
    for path, value in list(walk(whole)):
        if len(path) >= envelope and isinstance(value, list) and all(isinstance(row, (dict, str)) for row in value):
            value.extend(copy.deepcopy(value))
    batch = adapter.parse(whole, NOW)
    assert_valid(batch, feed=adapter.name)
    assert {(o.offer_id, o.usd_per_hour) for o in batch.offers} == {(o.offer_id, o.usd_per_hour) for o in good.offers}


def walk(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every part of a payload under the path to it."""
    yield path, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from walk(inner, (*path, key))


def places(payload: Json, is_wanted: Callable[[Json, Json], bool], *, envelope: int) -> list[Path]:
    """Paths to the wanted parts below the envelope that `fetch` itself writes, a few of those that look alike."""
    parents = dict(walk(payload))
    seen: dict[Path, int] = {}
    found = []
    for path, value in parents.items():
        if len(path) > envelope and path and is_wanted(parents[path[:-1]], value):
            pattern = tuple("*" if isinstance(key, int) else key for key in path)
            seen[pattern] = seen.get(pattern, 0) + 1
            if seen[pattern] <= PER_PATTERN:
                found.append(path)
    return found


def changed(payload: Json, path: Path, change: Callable[[Json, Any], None]) -> Json:
    """A copy of the payload with a change at the end of the path."""
    whole = copy.deepcopy(payload)
    parent = whole
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return whole


def _parsed(adapter: Adapter, payload: Json, path: Path) -> Batch | None:
    """The batch; None where the whole catalogue is refused. Any other error breaks the contract."""
    try:
        return adapter.parse(payload, NOW)
    except ProviderPayloadInvalid:
        return None
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} instead of a refusal: {path}") from error


def _ending(path: Path) -> set[str]:
    """The last one, two and three names of a path, joined by dots."""
    names = ["*" if isinstance(key, int) else str(key) for key in path]
    return {".".join(names[-count:]) for count in (1, 2, 3)}


def _remove(parent: Json, key: Any) -> None:
    del parent[key]


def _put(parent: Json, key: Any, value: Json) -> None:
    parent[key] = value


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
