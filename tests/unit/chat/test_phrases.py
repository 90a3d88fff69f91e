"""Sixty lines of chat: half read exactly, half refused at the exact place with what would do."""

import pytest

from providers.offer import CapacityType
from service.chat.complaint import Complaint
from service.chat.parse import parse
from service.chat.reading import (
    BreakevenReading,
    CompareReading,
    ExplainReading,
    HistoryReading,
    Machine,
    PlainReading,
    PlanReading,
    Terms,
    UnwatchReading,
    WatchReading,
    WhyNotReading,
)
from service.domain.request import DataSensitivity, Regime
from service.domain.workload import Precision, Technique

SPOT, ON_DEMAND, RESERVED = CapacityType.SPOT, CapacityType.ON_DEMAND, CapacityType.RESERVED
QLORA, LORA, FULL = Technique.QLORA, Technique.LORA, Technique.FULL


def cheapest(**terms):
    return PlanReading(is_fastest=False, terms=Terms(**terms))


def fastest(**terms):
    return PlanReading(is_fastest=True, terms=Terms(**terms))


READ = {
    "cheapest 70B qlora under $3/h in EU": cheapest(params_b=70, technique=QLORA, max_usd_per_hour=3, places=("EU",)),
    "cheapest 0.5b full": cheapest(params_b=0.5, technique=FULL),
    "cheapest 8x7b lora 50M tokens": cheapest(model="Mixtral-8x7B", technique=LORA, tokens=5e7),
    "Cheapest Llama-3.1-8B QLoRA 1.5B tokens": cheapest(model="Llama-3.1-8B", technique=QLORA, tokens=1.5e9),
    "cheapest meta-llama/Llama-3.1-8B lora": cheapest(model="Llama-3.1-8B", technique=LORA),
    "cheapest llama 3.1 70b int4 inference 5 rps": cheapest(
        model="Llama-3.1-70B", precision=Precision.INT4, is_inference=True, requests_per_second=5
    ),
    "cheapest 7b lora below $2/gpu/h": cheapest(params_b=7, technique=LORA, max_usd_per_gpu_hour=2),
    "cheapest 7b lora at most 2 usd per gpu hour": cheapest(params_b=7, technique=LORA, max_usd_per_gpu_hour=2),
    "cheapest 7b lora <= $2.50 per hour": cheapest(params_b=7, technique=LORA, max_usd_per_hour=2.5),
    "cheapest 13b lora for $500": cheapest(params_b=13, technique=LORA, max_usd_total=500),
    "cheapest 13b lora total under $200": cheapest(params_b=13, technique=LORA, max_usd_total=200),
    "fastest 70b qlora in 2 weeks": fastest(params_b=70, technique=QLORA, deadline_hours=336),
    "cheapest 70b qlora within 3 days now": cheapest(params_b=70, technique=QLORA, deadline_hours=72, is_now=True),
    "cheapest 70b qlora why not vast": cheapest(params_b=70, technique=QLORA, why_not="vast"),
    "cheapest 70b qlora if prices -30%": cheapest(params_b=70, technique=QLORA, price_change=-0.3),
    "cheapest 8x a100 80gb spot in us-east-1": cheapest(
        machines=(Machine(gpu="A100 80GB", count=8),), capacity_types=(SPOT,), places=("us-east-1",)
    ),
    "cheapest H100:8 on demand or reserved on aws, gcp": cheapest(
        machines=(Machine(gpu="H100", count=8),), capacity_types=(ON_DEMAND, RESERVED), providers=("aws", "gcp")
    ),
    "cheapest rtx4090 for 24h not vast": cheapest(
        machines=(Machine(gpu="RTX 4090"),), work_hours=24, excluded_providers=("vast",)
    ),
    "cheapest 7b lora in Germany, UK or CH": cheapest(params_b=7, technique=LORA, places=("DE", "GB", "CH")),
    "cheapest 7b lora in EEA confidential data gdpr": cheapest(
        params_b=7, technique=LORA, places=("EEA",), data_class=DataSensitivity.CONFIDENTIAL, regimes=(Regime.GDPR,)
    ),
    "cheapest 7b lora in Europe top 5 8 runs a month for 2 years": cheapest(
        params_b=7, technique=LORA, places=("EUROPE",), top=5, runs_per_month=8, horizon_months=24
    ),
    "compare 2xH100 vs 8xA100 80gb for 72h": CompareReading(
        machines=(Machine(gpu="H100", count=2), Machine(gpu="A100 80GB", count=8)), terms=Terms(work_hours=72)
    ),
    "compare h100 sxm vs h200 vs b200": CompareReading(
        machines=(Machine(gpu="H100-SXM"), Machine(gpu="H200"), Machine(gpu="B200")), terms=Terms()
    ),
    "breakeven H100 at 45% for 36 months": BreakevenReading(
        machine=Machine(gpu="H100"), terms=Terms(utilization=0.45, horizon_months=36)
    ),
    "history h100 spot 30d": HistoryReading(gpu="H100", days=30, capacity_types=(SPOT,)),
    "explain 2": ExplainReading(rank=2),
    "why not vast": WhyNotReading(provider="vast"),
    "watch h100 under $2/gpu/h in EU": WatchReading(gpu="H100", max_usd_per_gpu_hour=2, places=("EU",)),
    "unwatch 0a1b2c3d": UnwatchReading(watch_id="0a1b2c3d"),
    "providers": PlainReading("providers"),
    "help": PlainReading("help"),
}

# line, what the carets stand under, a part of the message, what is suggested (a part of it)
REFUSED = [
    ("cheapst 70b", "cheapst", "not known", "cheapest"),
    ("cheapest 70b qlorra", "qlorra", "not known", "qlora"),
    ("cheapest 70b qlora undr $3/h", "undr", "not known", "under"),
    ("cheapest 70b qlora under $3", "$3", "one GPU and an hour", "$3/gpu/h"),
    ("watch h100 under $2", "$2", "one GPU and an hour", "$2/gpu/h"),
    ("cheapest 70b qlora under $500/month", "$500", "not for a month", None),
    ("cheapest 70b qlora for $3/h", "for", "under", "under $3/h"),
    ("cheapest 70b qlora under €3/h", "€3", "US dollars", None),
    ("cheapest 70b qlora under 3 eur per hour", "3 eur", "US dollars", None),
    ("cheapest 70b qlora under $2,50/h", "$2,50", "comma", None),
    ("cheapest 70b qlora under $0/h", "$0", "above 0", None),
    ("cheapest 70b qlora under", " ", "missing", None),
    ("cheapest 70b qlora in Atlantis", "Atlantis", "no country", None),
    ("cheapest 70b qlora in Germny", "Germny", "no country", "Germany"),
    ("cheapest llama 70b qlora", "llama", "not known", "Llama-2-70B"),
    ("cheapest 9x7b lora", "9x7b", "no model of this shape", "Mixtral-8x7B"),
    ("cheapest h100 40gb", "40gb", "memory", "80GB"),
    ("cheapest a10x", "a10x", "not known", "A10"),
    ("cheapest 2xH100:8", ":8", "twice", None),
    ("cheapest 0xH100", "0x", "from 1 to 1024", None),
    ("cheapest 70b qlora 7b", "7b", "before", None),
    ("cheapest 70b qlora inference", "inference", "training or inference", None),
    ("cheapest 70b qlora spot spot", "spot", "twice", None),
    ("cheapest 70b on aws not aws", "aws", "left out", None),
    ("breakeven h100 at 145%", "145%", "at most 100%", None),
    ("cheapest 70b if prices 30%", "30%", "up or down", "-30%"),
    ("cheapest 70b cheapest", "cheapest", "cannot stand here", None),
    ("explain 0", "0", "from 1", None),
    ("compare h100", " ", "vs and another machine", None),
    ("compare h100 vs h100", "h100", "with itself", None),
    ("watch h100", "watch", "price to wait for", "under $2/gpu/h"),
    ("history 2xh100 30d", "2x", "leave the count out", None),
    ("70b qlora", "70b", "begins with what is asked", None),
    ("cheapest 70b; drop table", ";", "not known", None),
    ("<@U123> cheapest 70b", "<@U123>", "not known", None),
]


@pytest.mark.parametrize("line", READ)
def test_a_line_is_read_exactly(line):
    assert parse(line) == READ[line]


@pytest.mark.parametrize(("line", "under", "message", "suggested"), REFUSED, ids=[line for line, *_ in REFUSED])
def test_a_line_is_refused_where_it_goes_wrong(line, under, message, suggested):
    with pytest.raises(Complaint) as refused:
        parse(line)
    complaint = refused.value
    assert (line + " ")[complaint.start : complaint.end] == under, complaint.caret
    assert message in str(complaint)
    assert suggested is None or suggested in complaint.allowed


def test_a_card_that_is_not_in_stock_is_no_other_card():
    assert parse("cheapest a10").terms.machines == (Machine(gpu="A10"),)
    assert parse("cheapest a10g").terms.machines == (Machine(gpu="A10G"),)


def test_a_quantised_model_keeps_its_precision():
    # int4 is also a word that model names may carry: it must not be swallowed by the name
    assert parse("cheapest llama-3.1-8b int4 inference").terms.precision is Precision.INT4


def test_five_hundred_characters_are_read_and_one_more_is_not():
    line = "cheapest 7b lora " + "x" * 483
    with pytest.raises(Complaint, match="not known"):
        parse(line)
    with pytest.raises(Complaint, match="at most 500 characters, this one has 501"):
        parse(line + ".")


def test_an_empty_line_asks_for_help():
    assert parse("  ") == PlainReading("help")


def test_control_characters_and_direction_marks_are_blanks():
    assert parse("cheapest\t7b\u202e lora\x00") == cheapest(params_b=7, technique=LORA)


def test_a_seller_of_a_price_file_is_known_when_it_is_named():
    with pytest.raises(Complaint):
        parse("cheapest 7b lora on acme")
    assert parse("cheapest 7b lora on acme", providers=frozenset({"acme"})).terms.providers == ("acme",)
