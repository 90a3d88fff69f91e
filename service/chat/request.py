"""Request: from the terms of a reading to the body of `POST /plan`, with what had to be assumed in words."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from providers.gpus import select_gpus
from service.chat.complaint import Complaint
from service.chat.phrase import amount_phrase
from service.chat.reading import BreakevenReading, Machine, Terms
from service.domain.request import PlanRequest

ASSUMED_TOKENS: Final = 10_000_000.0
RENT_HOURS: Final = 1.0
RENT_VRAM_GIB: Final = 1.0  # a rented card whose work is not said: any memory will do
HOURS_OF_A_MONTH: Final = 730.0
DEFAULT_LIMIT: Final = 20
FASTEST_AMONG: Final = 200
_BOX_FORM: Final = "SXM"  # of a family, the variant that default boxes are built of


def plan_request(terms: Terms, *, text: str, is_fastest: bool = False) -> tuple[PlanRequest, tuple[str, ...]]:
    """The request, and what it assumes.

    Raises:
        Complaint: neither model nor card is named, or hours of work refer to no card.
    """
    has_model = terms.model is not None or terms.params_b is not None
    if not has_model and not terms.machines:
        raise _open(text, "of what? Name a model or a size, or a card to rent", "70b qlora", "llama-3.1-8b lora", "8x H100")
    workload, usage, assumed = _model_work(terms, text) if has_model else _rent(terms, terms.machines[0])
    limit = FASTEST_AMONG if is_fastest else max(DEFAULT_LIMIT, terms.top or 0)
    body = {"workload": workload, "usage": usage, "constraints": constraints_of(terms, terms.machines), "limit": limit}
    return made(body, text), assumed


def side_requests(terms: Terms, machine: Machine, *, text: str) -> tuple[tuple[PlanRequest, ...], tuple[str, ...]]:
    """The requests that one side of a comparison stands for: each variant rented for the same time, or the same work."""
    if terms.model is not None or terms.params_b is not None:
        workload, usage, assumed = _model_work(terms, text)
        if usage and "reference_gpu" in usage:
            raise _open(text, "hours are of one card: to compare the same work, give its amount", "50M tokens")
        body = {"workload": workload, "usage": usage, "constraints": constraints_of(terms, (machine,)), "limit": 1}
        return (made(body, text),), assumed
    requests = []
    for card in select_gpus(machine.gpu):
        one = Machine(gpu=card.name, count=machine.count)
        workload, usage, _ = _rent(terms, one)
        body = {"workload": workload, "usage": usage, "constraints": constraints_of(terms, (one,)), "limit": 1}
        requests.append(made(body, text))
    hours = terms.work_hours or RENT_HOURS
    return tuple(requests), (f"each is rented for {hours:g} h: the same time, not the same work (name a model for that)",)


def breakeven_request(reading: BreakevenReading, *, text: str) -> tuple[PlanRequest, tuple[str, ...]]:
    """Own hardware (the dated default box of the card) beside the cloud's same card, at a share of its hours."""
    terms = reading.terms
    if terms.utilization is None:
        raise _open(text, "at which utilization? The verdict hangs on it", "at 45%")
    cards = select_gpus(reading.machine.gpu)
    card = next((one for one in cards if one.form_factor.startswith(_BOX_FORM)), cards[0])
    assumed = () if len(cards) == 1 else (f"{reading.machine.gpu} is read as {card.name}, the variant of the default box",)
    workload: Mapping[str, Any] = {"task": "raw", "vram_gib": RENT_VRAM_GIB, "gpu_count": reading.machine.count}
    limits = constraints_of(terms, (Machine(gpu=card.name, count=reading.machine.count),))
    if terms.model is not None or terms.params_b is not None:
        workload, _, more = _model_work(terms, text)
        workload, assumed = {**workload, "tokens": terms.tokens}, (*assumed, *(one for one in more if "tokens" not in one))
    usage = {"utilization": terms.utilization, "reference_gpu": card.name, "horizon_months": terms.horizon_months}
    return made({"workload": workload, "usage": usage, "constraints": limits, "on_prem": ["default"]}, text), assumed


def constraints_of(terms: Terms, machines: tuple[Machine, ...]) -> dict[str, Any]:
    """What must hold."""
    counts = [machine.count for machine in machines if machine.count is not None]
    has_one_count = len(counts) == len(machines) and len(set(counts)) == 1
    return {
        "data_sensitivity": terms.data_class,
        "regimes": terms.regimes,
        "residency": terms.places,
        "capacity_types": terms.capacity_types,
        "providers": terms.providers,
        "exclude_providers": terms.excluded_providers,
        "gpus": [machine.gpu for machine in machines],
        "min_gpu_count": counts[0] if has_one_count else None,
        "max_gpu_count": counts[0] if has_one_count else None,
        "min_availability": "available" if terms.is_now else None,
        "deadline_hours": terms.deadline_hours,
        "max_usd_per_hour": terms.max_usd_per_hour,
        "max_usd_per_gpu_hour": terms.max_usd_per_gpu_hour,
        "max_usd_total": terms.max_usd_total,
    }


def made(body: Mapping[str, Any], text: str) -> PlanRequest:
    """The checked request; absent and empty fields are not sent. Raises Complaint with the field that is refused."""
    try:
        return PlanRequest.model_validate_json(json.dumps(_without_absent(body)))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        words = str(first["msg"]).removeprefix("Value error, ")
        raise Complaint(words, text=text, start=0, end=len(text)) from None


def _model_work(terms: Terms, text: str) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    is_service = terms.is_inference or terms.requests_per_second is not None
    workload: dict[str, Any] = {
        "task": "infer" if is_service else "train",
        "model": terms.model or {"params_b": terms.params_b},
        "technique": terms.technique,
        "precision": terms.precision,
        "tokens": terms.tokens,
        "requests_per_second": terms.requests_per_second,
    }
    usage: dict[str, Any] = {"runs": terms.runs, "runs_per_month": terms.runs_per_month, "horizon_months": terms.horizon_months}
    assumed: tuple[str, ...] = ()
    if terms.work_hours is not None or terms.utilization is not None:
        usage = _by_the_hour(terms, text, is_service=is_service)
    elif not is_service and terms.tokens is None:
        workload["tokens"] = ASSUMED_TOKENS
        assumed = (f"a run is {amount_phrase(ASSUMED_TOKENS)} tokens: say another amount, as 50M tokens",)
    if terms.horizon_months is not None and not _has_amount(usage):
        usage |= {"hours_per_month": HOURS_OF_A_MONTH} if is_service else {"runs": 1.0}
    return workload, usage, assumed


def _has_amount(usage: Mapping[str, Any]) -> bool:
    return any(usage.get(name) is not None for name in ("runs", "runs_per_month", "hours_per_month", "utilization"))


def _by_the_hour(terms: Terms, text: str, *, is_service: bool) -> dict[str, Any]:
    """Hours of one card, once: a month's hours over a horizon of one month; or a share of every month."""
    if not terms.machines and not is_service:
        raise _open(text, "hours and shares are of one card: of which?", "on H100 for 72h", "50M tokens")
    reference = terms.machines[0].gpu if terms.machines and not is_service else None
    if terms.utilization is not None:
        return {"utilization": terms.utilization, "reference_gpu": reference, "horizon_months": terms.horizon_months}
    return {"hours_per_month": terms.work_hours, "reference_gpu": reference, "horizon_months": 1}


def _rent(terms: Terms, machine: Machine) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    """A card rented by the hour, whatever runs on it."""
    count, hours = machine.count or 1, terms.work_hours or RENT_HOURS
    workload: dict[str, Any] = {"task": "raw", "vram_gib": RENT_VRAM_GIB, "gpu_count": count}
    reference = min(select_gpus(machine.gpu), key=lambda gpu: (gpu.memory_gb, gpu.bf16_tflops or gpu.fp32_tflops)).name
    if terms.utilization is not None:
        share = {"utilization": terms.utilization, "reference_gpu": reference, "horizon_months": terms.horizon_months}
        return workload, share, ()
    usage = {"runs": terms.runs, "runs_per_month": terms.runs_per_month, "horizon_months": terms.horizon_months}
    if terms.runs is None and terms.runs_per_month is None:
        usage["runs"] = 1.0
    workload["gpu_hours"] = hours * count
    said = "" if terms.work_hours is not None else ": say another time, as for 72h"
    return (
        workload,
        {**usage, "reference_gpu": reference},
        (f"the work is {hours:g} h of {count}x {reference}, a faster card needs fewer{said}",),
    )


def _open(text: str, message: str, *examples: str) -> Complaint:
    """What the line leaves open, asked back at its end."""
    return Complaint(message, text=text, start=len(text), end=len(text) + 1, allowed=examples)


def _without_absent(value: Any) -> Any:
    if isinstance(value, Mapping):
        inner = {name: _without_absent(part) for name, part in value.items()}
        return {name: part for name, part in inner.items() if part not in (None, {}, [], ())}
    return value
