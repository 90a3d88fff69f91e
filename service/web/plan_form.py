"""Plan form: the fields of the first page as a PlanRequest, by the same checks as POST /plan; faults stand by their field."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from providers.errors import InvalidInput, UnknownGpu, UnknownModel
from service.domain.request import PlanRequest
from service.estimate.models import find_model
from service.web.sent import Sent, first

INFER: Final = "infer"
OWN_NONE, OWN_DEFAULT, OWN_DESCRIBED, OWN_STORED = "none", "default", "described", "stored:"
WHOLE_MONTH: Final = "730"
MAX_TEXT: Final = 4000
DEFAULTS: Final = {
    "model": "", "technique": "qlora", "amount": "tokens", "tokens_million": "50", "runs_per_month": "", "hours_per_month": "200",
    "utilization_percent": "40", "reference_gpu": "", "horizon_months": "36", "requests_per_second": "", "prompt_tokens": "",
    "output_tokens": "", "data_sensitivity": "internal", "residency": "", "purchase": "both", "deadline_hours": "",
    "max_usd_per_hour": "", "limit": "10", "own": OWN_NONE, "own_gpu": "H100-SXM", "own_gpus_per_node": "8", "own_nodes": "1",
    "own_mode": "buy", "own_capex_usd_per_node": "", "own_country": "",
}  # fmt: skip
_PURCHASES: Final = {"both": ["on_demand", "spot"], "on_demand": ["on_demand"], "spot": ["spot"]}
_FIELD_OF: Final = {
    "/workload/model": "model", "/workload/technique": "technique", "/workload/task": "technique",
    "/workload/tokens": "tokens_million", "/workload/requests_per_second": "requests_per_second",
    "/workload/prompt_tokens": "prompt_tokens", "/workload/output_tokens": "output_tokens",
    "/usage/runs_per_month": "runs_per_month", "/usage/hours_per_month": "hours_per_month",
    "/usage/utilization": "utilization_percent", "/usage/reference_gpu": "reference_gpu",
    "/usage/horizon_months": "horizon_months", "/constraints/data_sensitivity": "data_sensitivity",
    "/constraints/residency": "residency", "/constraints/deadline_hours": "deadline_hours",
    "/constraints/max_usd_per_hour": "max_usd_per_hour", "/limit": "limit", "/on_prem/0/gpu": "own_gpu",
    "/on_prem/0/mode": "own_mode", "/on_prem/0/gpus_per_node": "own_gpus_per_node",
    "/on_prem/0/nodes": "own_nodes", "/on_prem/0/country": "own_country",
    "/on_prem/0/capex_usd_per_node": "own_capex_usd_per_node", "/on_prem/0": "own", "/on_prem": "own", "/usage": "amount",
    "/workload": "model",
}  # fmt: skip
_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_UNION_MEMBER: Final = "constrained-str"  # pydantic also tells why a pool is not the name of a stored one


@dataclass(slots=True)
class PlanForm:
    """What stands in the fields, and what is wrong with each of them. `request` is there when nothing is."""

    values: dict[str, str]
    faults: dict[str, str] = field(default_factory=dict)
    request: PlanRequest | None = None

    def fault(self, name: str, message: str) -> None:
        """Notes a fault; the first one of a field stays. One without a field of its own stands above the form."""
        self.faults.setdefault(name, message)


def empty_form() -> PlanForm:
    """The form as a newcomer sees it."""
    return PlanForm(dict(DEFAULTS))


def read_plan_form(sent: Sent) -> PlanForm:
    """The form with its request, or with its faults."""
    form = PlanForm({name: first(sent, name)[:MAX_TEXT] if name in sent else DEFAULTS[name] for name in DEFAULTS})
    asked = _asked(form)
    try:
        request: PlanRequest | None = PlanRequest.model_validate_json(json.dumps(asked))
    except ValidationError as error:
        _note(form, error)
        request = None
    _note_unknown_model(form)
    form.request = None if form.faults else request
    return form


def _note_unknown_model(form: PlanForm) -> None:
    """Told together with what else is wrong: the solver would tell it alone, after all other faults are mended."""
    named = model_of(form.values["model"])
    if isinstance(named, str) and named:
        try:
            find_model(named)
        except UnknownModel as error:
            note_refusal(form, error)


def note_refusal(form: PlanForm, error: InvalidInput) -> None:
    """A request that is right in form and refused in fact: an unknown model, hours without a card."""
    near = f" Nearest: {', '.join(map(str, error.allowed[:5]))}." if error.allowed else ""
    kind = "This name is not known." if isinstance(error, UnknownModel | UnknownGpu) else f"{_sentence(str(error))}"
    form.fault(_FIELD_OF.get(error.pointer, ""), kind + near)


def _asked(form: PlanForm) -> dict[str, Any]:
    value = form.values
    serves = value["technique"] == INFER
    workload: dict[str, Any] = {"task": INFER if serves else "train"}
    if not value["model"]:
        form.fault("model", "Name a model, or its size in billions of parameters, as in 13B.")
    workload["model"] = model_of(value["model"])
    usage: dict[str, Any] = {"horizon_months": _whole(form, "horizon_months")}
    if serves:
        workload |= {
            "requests_per_second": _number(form, "requests_per_second"),
            "prompt_tokens": _whole(form, "prompt_tokens"),
            "output_tokens": _whole(form, "output_tokens"),
        }
        if workload["requests_per_second"] is None:
            form.fault("requests_per_second", "How many requests come in a second, on average?")
        usage["hours_per_month"] = float(WHOLE_MONTH)
    else:
        workload["technique"] = value["technique"]
        _amount(form, workload, usage)
    constraints: dict[str, Any] = {
        "data_sensitivity": value["data_sensitivity"],
        "residency": [part for part in re.split(r"[\s,;]+", value["residency"]) if part],
        "capacity_types": _PURCHASES.get(value["purchase"], [value["purchase"]]),
        "deadline_hours": _number(form, "deadline_hours"),
        "max_usd_per_hour": _number(form, "max_usd_per_hour"),
    }
    parts = {"workload": workload, "usage": usage, "constraints": constraints}
    told = {name: {key: one for key, one in part.items() if one is not None} for name, part in parts.items()}
    return {**told, "on_prem": _own(form), "limit": _whole(form, "limit") or 10}


def model_of(text: str) -> str | dict[str, float]:
    """A name, or a bare size: "13B" and "13" are thirteen billion parameters."""
    size = re.fullmatch(r"([0-9]{1,5}(?:\.[0-9]{1,4})?)\s*[bB]?", text)
    return {"params_b": float(size[1])} if size else text


def _amount(form: PlanForm, workload: dict[str, Any], usage: dict[str, Any]) -> None:
    """How much training: tokens of a run, hours a month on a card, or a share of its time."""
    amount = form.values["amount"]
    if amount == "tokens":
        millions = _number(form, "tokens_million", wanted=True)
        workload["tokens"] = None if millions is None else millions * 1e6
        runs = _number(form, "runs_per_month")
        usage |= {"runs": 1.0} if runs is None else {"runs_per_month": runs}
        return
    if amount == "hours":
        usage["hours_per_month"] = _number(form, "hours_per_month", wanted=True)
    elif amount == "utilization":
        percents = _number(form, "utilization_percent", wanted=True)
        usage["utilization"] = None if percents is None else percents / 100
    else:
        form.fault("amount", "Choose tokens, hours or utilization.")
    usage["reference_gpu"] = form.values["reference_gpu"] or None


def _own(form: PlanForm) -> list[Any]:
    own = form.values["own"]
    if own == OWN_NONE:
        return []
    if own == OWN_DEFAULT:
        return ["default"]
    if own.startswith(OWN_STORED):
        return [own.removeprefix(OWN_STORED)]
    if own != OWN_DESCRIBED:
        form.fault("own", "Choose one of the list.")
        return []
    if not form.values["own_gpu"]:
        form.fault("own_gpu", "Which card is in it?")
    pool = {
        "name": "own",
        "gpu": form.values["own_gpu"],
        "gpus_per_node": _whole(form, "own_gpus_per_node"),
        "nodes": _whole(form, "own_nodes"),
        "mode": form.values["own_mode"],
        "country": form.values["own_country"].upper() or None,
        "capex_usd_per_node": _number(form, "own_capex_usd_per_node"),
    }
    return [{name: value for name, value in pool.items() if value is not None}]


def _number(form: PlanForm, name: str, *, wanted: bool = False) -> float | None:
    text = _read(form, name, _NUMBER, "Write a plain number, as 250 or 0.5.", wanted=wanted)
    return None if text is None else float(text)


def _whole(form: PlanForm, name: str) -> int | None:
    text = _read(form, name, _WHOLE, "Write a whole number, as 8.", wanted=False)
    return None if text is None else int(text)


def _read(form: PlanForm, name: str, shape: re.Pattern[str], advice: str, *, wanted: bool) -> str | None:
    text = form.values[name]
    if shape.fullmatch(text):
        return text
    if text or wanted:
        form.fault(name, advice)
    return None


def _note(form: PlanForm, error: ValidationError) -> None:
    for one in error.errors(include_url=False, include_input=False):
        if _UNION_MEMBER in one["loc"] and len(error.errors()) > 1:
            continue
        form.fault(_FIELD_OF.get(_pointer(one["loc"]), ""), _advice(one))


def _pointer(loc: Sequence[str | int]) -> str:
    """The longest pointer that has a field; pydantic writes members of unions into its path."""
    known = {part for pointer in _FIELD_OF for part in pointer.split("/")}
    parts = [str(part) for part in loc if str(part) in known]
    while parts and "/" + "/".join(parts) not in _FIELD_OF:
        parts.pop()
    return "/" + "/".join(parts)


def _advice(one: Mapping[str, Any]) -> str:
    message = str(one["msg"]).removeprefix("Value error, ").replace("Input should be", "It must be")
    return _sentence(message)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
