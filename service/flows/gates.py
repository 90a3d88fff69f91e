"""Gates: may a fetched batch replace the prices that are stored? Pure: what was read before is an argument."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from statistics import median
from typing import Any, Final

from providers.offer import MALFORMED, NO_GPU, OUT_OF_SCOPE, UNKNOWN_GPU, Batch, Offer, Tenancy

MOST_MALFORMED_FRACTION: Final = 0.2
LEAST_SHAPES_FRACTION: Final = 0.5
MOST_MEDIAN_MOVE: Final = 5.0
LEAST_SHAPES_OF_A_REGION: Final = 3  # fewer may go: a machine type or two is withdrawn now and then
LEAST_OFFERS_FOR_A_MEDIAN: Final = 3  # one host of a marketplace may ask what it likes
AGREEING_REFRESHES: Final = 3
AGREEMENT_FRACTION: Final = 0.1  # two refused batches agree when counts and medians differ by no more
_APART: Final = {UNKNOWN_GPU, NO_GPU, OUT_OF_SCOPE}  # no fault of the catalogue
_SHAPE: Final = attrgetter(
    "gpu", "capacity_type._value_", "provider", "tier", "instance_type", "gpu_count", "form_factor", "machine_id"
)

Profile = Mapping[
    str, Mapping[str, Any]
]  # scope -> {"shapes": count, "regions": {...}, "medians": {"gpu|capacity type": [median, offers]}}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a batch is not taken: a stable code and a sentence."""

    code: str
    detail: str


def profile_of(offers: Iterable[Offer]) -> dict[str, dict[str, Any]]:
    """What the gates compare, per scope: the listed shapes and the median price of one GPU per card and capacity type.

    A shape is listed whether or not it has capacity, and in however many regions: a sold-out catalogue has not shrunk.
    By region they are counted where prices are listed for each region whatever its stock, at hyperscalers.
    """
    regions: dict[str, dict[str, set[Any]]] = {}
    shapes: dict[str, set[Any]] = {}
    prices: dict[str, dict[tuple[str, str], list[float]]] = {}
    for offer in offers:
        shape = _SHAPE(offer)
        shapes.setdefault(offer.scope, set()).add(shape)
        if offer.tenancy is Tenancy.HYPERSCALER and offer.region is not None:
            regions.setdefault(offer.scope, {}).setdefault(offer.region, set()).add(shape)
        of_scope = prices.setdefault(offer.scope, {})
        of_scope.setdefault(shape[:2], []).append(float(offer.usd_per_hour) / offer.gpu_count)
    return {
        scope: {
            "shapes": len(found),
            "regions": {region: len(held) for region, held in sorted(regions.get(scope, {}).items())},
            "medians": {f"{gpu}|{kind}": [median(group), len(group)] for (gpu, kind), group in prices[scope].items()},
        }
        for scope, found in shapes.items()
    }


def refusal_of(batch: Batch, profile: Profile, before: Profile | None) -> Refusal | None:
    """The first gate that the batch fails; None when it may be stored. `before` is None at the first load."""
    if not batch.offers:
        return Refusal("empty-batch", "the catalogue came without a single offer")
    if refusal := _malformed(batch):
        return refusal
    if before is None or all(offer.is_dated for offer in batch.offers):  # a list is edited on purpose, a market is not
        return None
    kept = {scope: part for scope, part in before.items() if scope not in batch.failed_scopes}
    return _shrunk(profile, kept) or _lost_region(profile, kept) or _moved(profile, kept)


def agree(one: Profile, other: Profile) -> bool:
    """True when two refused batches tell the same story: within a tenth in shapes and in nine of ten medians."""
    if not _near(_shapes(one), _shapes(other)):
        return False
    near = [_near(left, right) for _, left, right, _ in _median_pairs(one, other, at_least=1)]
    return sum(near) >= (1 - AGREEMENT_FRACTION) * len(near)


def counts_by_reason(batch: Batch) -> dict[str, int]:
    """How many rows became no offer, by reason."""
    return dict(sorted(Counter(rejected.reason for rejected in batch.rejected).items()))


def is_partial(batch: Batch) -> bool:
    """True when something that should have become an offer did not."""
    lost = {rejected.reason for rejected in batch.rejected} - {NO_GPU, OUT_OF_SCOPE}
    return bool(lost or batch.failed_scopes or batch.truncated)


def _malformed(batch: Batch) -> Refusal | None:
    counts = counts_by_reason(batch)
    malformed = counts.get(MALFORMED, 0)
    read = len(batch.offers) + sum(counts.values()) if batch.row_count is None else batch.row_count
    read = max(read - sum(counts.get(reason, 0) for reason in _APART), malformed)
    if malformed == 0 or malformed < MOST_MALFORMED_FRACTION * read:
        return None
    return Refusal("too-many-malformed-rows", f"{malformed} of {read} rows cannot be read")


def _shrunk(profile: Profile, before: Profile) -> Refusal | None:
    now, then = _shapes(profile), _shapes(before)
    if now >= LEAST_SHAPES_FRACTION * then:
        return None
    return Refusal("too-few-shapes", f"{now} listed shapes where there were {then}")


def _lost_region(profile: Profile, before: Profile) -> Refusal | None:
    """A region whose list is empty all at once was not read, or is closed: three refreshes tell which."""
    for scope, part in before.items():
        now = profile.get(scope, {}).get("regions", {})
        for region, count in part.get("regions", {}).items():  # a profile stored by an older version holds none
            if count >= LEAST_SHAPES_OF_A_REGION and region not in now:
                return Refusal("region-gone", f"{region} lists nothing where there were {count} shapes")
    return None


def _moved(profile: Profile, before: Profile) -> Refusal | None:
    """A whole market does not move by a factor of five between two refreshes: a unit changed, or a field."""
    for name, then, now, _ in _median_pairs(before, profile, at_least=LEAST_OFFERS_FOR_A_MEDIAN):
        if _ratio(then, now) > MOST_MEDIAN_MOVE:
            return Refusal("median-moved", f"the median of {name} went from {then:.4g} to {now:.4g} USD per GPU-hour")
    moves: dict[str, list[float]] = {}
    for name, then, now, offers in _median_pairs(before, profile, at_least=1):
        moves.setdefault(name.rpartition(" ")[2], []).extend([now / then] * offers)
    for kind, factors in moves.items():
        if (factor := median(factors)) > MOST_MEDIAN_MOVE or factor < 1 / MOST_MEDIAN_MOVE:
            return Refusal("median-moved", f"prices of kind {kind} moved by a factor of {factor:.3g}")
    return None


def _median_pairs(one: Profile, other: Profile, *, at_least: int) -> Iterable[tuple[str, float, float, int]]:
    """Scope, card and kind; both medians; and how many offers stand behind the thinner one."""
    for scope in sorted(one.keys() & other.keys()):
        left, right = one[scope]["medians"], other[scope]["medians"]
        for key in sorted(left.keys() & right.keys()):
            (then, then_count), (now, now_count) = left[key], right[key]
            offers = min(then_count, now_count)
            if offers >= at_least and then > 0 and now > 0:
                yield f"{scope} {key.replace('|', ' ')}".strip(), then, now, offers


def _shapes(profile: Profile) -> int:
    return sum(int(part["shapes"]) for part in profile.values())


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= AGREEMENT_FRACTION * max(one, other)


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)
