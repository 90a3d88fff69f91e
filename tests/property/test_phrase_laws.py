"""The phrase of any reading parses to the same reading."""

from hypothesis import given
from hypothesis import strategies as st

from providers.gpus import select_gpus
from providers.offer import CapacityType
from service.chat.complaint import Complaint
from service.chat.lexicon import lexicon
from service.chat.parse import MAX_CHARACTERS, parse
from service.chat.phrase import phrase_of
from service.chat.reading import (
    BreakevenReading,
    CompareReading,
    ExplainReading,
    HistoryReading,
    Machine,
    PlanReading,
    Terms,
    WatchReading,
    WhyNotReading,
)
from service.domain.request import DataSensitivity, Regime
from service.domain.workload import Precision, Technique
from service.estimate.models import MODELS

CARDS = sorted(set(lexicon().gpus.values()))
PROVIDERS = ["aws", "lambda", "vast", "runpod", "gcp", "azure", "oci"]
PLACES = ["EU", "EEA", "EUROPE", "GB", "IN", "DE", "US", "us-east-1", "eu-west-1"]


def maybe(strategy):
    return st.none() | strategy


def some(values, most=3):
    return st.lists(st.sampled_from(values), unique=True, max_size=most).map(tuple)


amounts = st.decimals("0.0001", "99999", places=4, allow_nan=False).map(float)
shares = st.decimals("0.01", "100", places=2, allow_nan=False).map(lambda percent: float(percent.scaleb(-2)))
machines = st.builds(Machine, gpu=st.sampled_from(CARDS), count=maybe(st.integers(1, 1024)))
limits = {
    "deadline_hours": maybe(amounts),
    "max_usd_per_hour": maybe(amounts),
    "max_usd_per_gpu_hour": maybe(amounts),
    "max_usd_total": maybe(amounts),
    "places": some(PLACES),
    "capacity_types": some(list(CapacityType)),
    "data_class": maybe(st.sampled_from(list(DataSensitivity))),
    "regimes": some(list(Regime), 2),
    "is_now": st.booleans(),
    "top": maybe(st.integers(1, 200)),
    "price_change": maybe(shares.map(lambda share: -share / 2 if share < 1 else share)),
    "why_not": maybe(st.sampled_from(PROVIDERS)),
}
models = st.one_of(
    st.fixed_dictionaries({"model": st.sampled_from(sorted(MODELS))}),
    st.fixed_dictionaries({"params_b": amounts.filter(lambda size: size >= 0.001)}),
    st.just({}),
)
works = st.one_of(
    st.fixed_dictionaries({"technique": maybe(st.sampled_from(list(Technique))), "tokens": st.integers(1, 10**12).map(float)}),
    st.fixed_dictionaries({"is_inference": st.just(True), "requests_per_second": maybe(amounts)}),
    st.fixed_dictionaries({"work_hours": amounts}),
    st.fixed_dictionaries({"utilization": shares, "horizon_months": maybe(st.integers(1, 120))}),
    st.fixed_dictionaries({"runs_per_month": amounts, "technique": maybe(st.sampled_from(list(Technique)))}),
    st.just({}),
)
sellers = st.sampled_from([{}, {"providers": ("aws", "lambda")}, {"excluded_providers": ("vast",)}])
precisions = st.fixed_dictionaries({"precision": maybe(st.sampled_from(list(Precision)))})


def terms_with(cards):
    parts = st.tuples(models, works, sellers, precisions, st.fixed_dictionaries(limits), cards)
    return parts.map(lambda found: Terms(**{name: value for part in found for name, value in part.items()}))


no_cards = st.just({})
cards = st.lists(machines, unique=True, max_size=2).map(lambda found: {"machines": tuple(found)})
readings = st.one_of(
    st.builds(PlanReading, is_fastest=st.booleans(), terms=terms_with(cards)),
    st.builds(
        CompareReading, machines=st.lists(machines, unique=True, min_size=2, max_size=3).map(tuple), terms=terms_with(no_cards)
    ),
    st.builds(BreakevenReading, machine=machines, terms=terms_with(no_cards)),
    st.builds(
        HistoryReading,
        gpu=st.sampled_from(CARDS),
        days=maybe(st.integers(1, 365).map(float)),
        capacity_types=some(list(CapacityType)),
        providers=some(PROVIDERS),
    ),
    st.builds(
        WatchReading,
        gpu=st.sampled_from(CARDS),
        gpu_count=maybe(st.integers(1, 16)),
        max_usd_per_gpu_hour=amounts,
        places=some(PLACES),
        capacity_types=some(list(CapacityType)),
        providers=some(PROVIDERS),
        is_now=st.booleans(),
    ),
    st.builds(ExplainReading, rank=st.integers(1, 200)),
    st.builds(WhyNotReading, provider=st.sampled_from(PROVIDERS)),
)


@given(readings)
def test_the_phrase_of_a_reading_parses_to_the_same_reading(reading):
    phrase = phrase_of(reading)
    if len(phrase) <= MAX_CHARACTERS:
        assert parse(phrase) == reading, phrase


@given(readings, st.sampled_from([str.upper, str.lower, lambda text: f"  {text.replace(' ', '  ')} "]))
def test_case_and_blanks_do_not_matter(reading, change):
    phrase = phrase_of(reading)
    if len(change(phrase).strip()) <= MAX_CHARACTERS:
        assert parse(change(phrase)) == reading, change(phrase)


def test_every_card_that_the_lexicon_knows_is_one_the_table_takes():
    for card in CARDS:
        assert select_gpus(card), card


SCRAPS = ["cheapest", "70b", "$3", "/h", "in", "EU", "not", "vast", "(", ")", ",", ":", "2x", "h100", "\x00", "\u202e", "watch"]


@given(st.text(max_size=80) | st.lists(st.sampled_from(SCRAPS)).map(" ".join))
def test_any_text_is_a_reading_or_a_complaint_with_a_place(text):
    found = read_or_refused(text)
    assert not isinstance(found, Complaint) or (0 <= found.start < found.end and "^" in found.caret)


def read_or_refused(text):
    try:
        return parse(text)
    except Complaint as complaint:
        return complaint
