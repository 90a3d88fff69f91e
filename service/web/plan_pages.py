"""The first page: the form, and the answer to it."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from providers.errors import InvalidInput
from providers.gpus import GPUS
from service.domain.plan import Plan, PlanOption
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.domain.workload import Technique
from service.estimate.models import MODELS
from service.flows.plan import check_request, make_plan
from service.reports.plan_charts import plan_figures
from service.web.context import WebContext, context_of
from service.web.curl import curl_of
from service.web.plan_form import INFER, OWN_STORED, PlanForm, empty_form, note_refusal, read_plan_form
from service.web.render import page
from service.web.sent import read_form
from service.web.site import page_router

router = page_router()

TECHNIQUES: Final = {
    Technique.QLORA: "QLoRA: adapters over 4-bit weights",
    Technique.LORA: "LoRA: adapters",
    Technique.FULL: "Full fine-tuning",
    Technique.CONTINUED_PRETRAINING: "Continued pretraining",
    Technique.DPO: "DPO: preference tuning",
    Technique.PPO: "PPO",
    Technique.GRPO: "GRPO",
    Technique.REWARD_MODEL: "Reward model",
}
CLASSES: Final = {
    DataSensitivity.PUBLIC: "Public: anybody may see it",
    DataSensitivity.INTERNAL: "Internal: no personal or secret data",
    DataSensitivity.CONFIDENTIAL: "Confidential: personal or customer data",
    DataSensitivity.RESTRICTED: "Restricted: health, payment, trade secrets",
    DataSensitivity.LOCAL_ONLY: "Local only: may not leave own hardware",
}


@router.get("/")
async def get_form(request: Request) -> Response:
    """The form."""
    return page(request, "plan.html", **_choices(context_of(request), empty_form()), plan=None)


@router.post("/")
async def post_form(request: Request) -> Response:
    """The answer, or the form with what is wrong beside each field. Nothing is written."""
    form = read_plan_form(await read_form(request, writes=False))
    return await run_in_threadpool(_answered, request, form)


def _answered(request: Request, form: PlanForm) -> Response:
    context = context_of(request)
    market = context.require_market()
    plan = None
    if form.request is not None:
        try:
            plan = plan_now(context, form.request)
        except InvalidInput as error:
            note_refusal(form, error)
    choices = _choices(context, form)
    if plan is None or form.request is None:
        return page(request, "plan.html", **choices, plan=None)
    kept = form.request.model_copy(update={"evaluated_at": plan.evaluated_at})
    return page(
        request,
        "plan.html",
        **choices,
        **answer_parts(plan, kept, pools=context.pools(), base=str(request.base_url).rstrip("/")),
        kept_request=kept.model_copy(update={"as_of": plan.prices.as_of}).model_dump_json(exclude_unset=True),
        kept_snapshot=market.snapshot_id,
    )


def plan_now(context: WebContext, asked: PlanRequest) -> Plan:
    """The plan on the newest prices. Raises InvalidInput and its like."""
    now = context.clock()
    check_request(asked, now)
    sensitivity = context.default_sensitivity
    return make_plan(asked, context.require_market(), now=now, pools=context.pools(), default_sensitivity=sensitivity)


def answer_parts(plan: Plan, asked: PlanRequest, *, pools: Mapping[str, OnPremPool], base: str) -> dict[str, Any]:
    """What the template of an answer shows; `pools` is the stored own hardware that the request may name."""
    tied = {option.tie_group for option in plan.options if _in_group(plan, option) > 1}
    return {
        "plan": plan,
        "tied": tied,
        "figures": plan_figures(plan, pools),
        "curl": curl_of(asked, base),
        "all_dated": bool(plan.options) and all(_is_old(option) for option in plan.options),
    }


def _in_group(plan: Plan, option: PlanOption) -> int:
    return sum(other.tie_group == option.tie_group for other in plan.options)


def _is_old(option: PlanOption) -> bool:
    return option.kind == "on_prem" or not {"dated", "stale"}.isdisjoint(option.flags)


def _choices(context: WebContext, form: PlanForm) -> dict[str, Any]:
    own = {
        OWN_STORED + name: f"{name}: {pool.nodes} × {pool.gpus_per_node} × {pool.gpu}" for name, pool in context.pools().items()
    }
    return {
        "form": form,
        "models": sorted(MODELS),
        "cards": sorted(GPUS),
        "techniques": {one.value: words for one, words in TECHNIQUES.items()},
        "infer": INFER,
        "classes": {one.value: words for one, words in CLASSES.items()},
        "stored_pools": own,
    }
