"""Gaps in RunPod's REST answers: widths and places that are not told are taken in the open, never lost."""

from datetime import UTC, datetime

from providers.offer import MALFORMED, Availability
from providers.runpod import RunPod

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
H100 = {
    "id": "NVIDIA H100 80GB HBM3", "memory": 80, "secure": True, "community": False, "price": {"secure": 3.59, "community": 0},
    "maxCount": {"secure": 2, "community": 0},
}  # fmt: skip
IN_ROMANIA = {"availability": "HIGH", "dataCenters": [{"id": "EU-RO-1", "availability": "HIGH"}]}
SOLD_OUT = {"availability": "NONE", "dataCenters": []}


def parsed(*, one, two, **changes):
    rows = {1: {**H100, **one, **changes}, 2: {**H100, **two, **changes}}
    answers = [{"cloud": "secure", "count": count, "gpus": [row]} for count, row in rows.items()]
    return RunPod().parse({"api": "rest", "dataCenters": [], "answers": answers}, NOW)


def told(batch):
    return {(o.gpu_count, o.region, o.availability) for o in batch.offers}


def test_what_is_told_is_taken():
    batch = parsed(one=IN_ROMANIA, two=SOLD_OUT)
    assert told(batch) == {(1, "EU-RO-1", Availability.AVAILABLE), (2, None, Availability.UNAVAILABLE)}
    assert batch.rejected == ()


def test_where_no_width_is_told_every_width_asked_for_stays_listed():
    batch = parsed(one=IN_ROMANIA, two=SOLD_OUT, maxCount={})
    sold_out = {(width, None, Availability.UNAVAILABLE) for width in (2, 4, 8)}
    assert told(batch) == {(1, "EU-RO-1", Availability.AVAILABLE), *sold_out}


def test_a_card_in_stock_without_its_places_is_offered_without_one_and_counted():
    hidden = {"availability": "HIGH"}
    batch = parsed(one=hidden, two=SOLD_OUT)
    assert (1, None, Availability.AVAILABLE) in told(batch)
    assert [(one.reason, one.row) for one in batch.rejected] == [(MALFORMED, f"secure {H100['id']}")]


def test_a_card_that_is_sold_out_has_no_places_to_tell():
    batch = parsed(one=IN_ROMANIA, two={"availability": "NONE"})
    assert batch.rejected == ()
