"""`gpuplan check-gpu`: the GPUs of this machine, and whether a workload fits on them now."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, NOTHING_FITS, CommandError, guarded

if TYPE_CHECKING:
    from service.domain.workload import Workload
    from service.flows.check_gpu import CardCheck


def check_gpu(
    plan: Annotated[
        str | None, typer.Option(help='Take the workload of a plan: @FILE with its JSON, or "last" for the last one here.')
    ] = None,
    model: opt.Model = None,
    params_b: opt.ParamsB = None,
    config: opt.Config = None,
    task: opt.Task = "train",
    technique: opt.Technique = None,
    precision: opt.Precision = None,
    quantization: opt.Quantization = None,
    sequence_length: opt.SequenceLength = None,
    micro_batch_size: opt.MicroBatchSize = None,
    json_: opt.AsJson = False,
) -> int:
    """Show this machine's GPUs with free memory and driver, and whether the workload fits, or which technique would."""
    from service.cli.nvml import NoGpuSeen, local_cards
    from service.flows.check_gpu import check_cards

    workload = _workload(dict(locals()), plan)
    try:
        cards = local_cards()
    except NoGpuSeen as error:
        raise CommandError(str(error), code=NOTHING_FITS) from error
    checks: tuple[CardCheck, ...] = guarded(lambda: check_cards(cards, workload))
    if json_:
        import json
        import sys
        from dataclasses import asdict

        sys.stdout.write(json.dumps([asdict(one) for one in checks], indent=2) + "\n")
    else:
        for one in checks:
            _show(one)
    return FOUND if workload is None or any(one.asked is not None and one.asked.fits for one in checks) else NOTHING_FITS


def _workload(given: dict[str, Any], plan: str | None) -> "Workload | None":
    import json

    from service.cli.request import read_json, without_absent, workload_body
    from service.domain.workload import Workload

    if plan is not None:
        of_plan: Workload = guarded(lambda: Workload.model_validate(_of_plan(plan, read_json), strict=False))
        return of_plan
    if all(given[name] is None for name in ("model", "params_b", "config")):
        return None
    body = json.dumps(without_absent(workload_body(given)))
    checked: Workload = guarded(lambda: Workload.model_validate_json(body))
    return checked


def _of_plan(plan: str, read_json: Any) -> Any:
    from service.cli.last_plan import last_plan

    if plan.startswith("@"):
        found = read_json(plan[1:], "--plan")
        return (found.get("request_echo") or {}).get("workload") if isinstance(found, dict) else None
    last = last_plan()
    if last is None or plan not in ("last", last.plan_id):
        raise CommandError("no plan of the last 24 hours on this machine has this id", hint="--plan @FILE, or gpuplan ask first")
    return last.request_echo["workload"]


def _show(check: "CardCheck") -> None:
    card = check.card
    print(
        f"GPU {card.index}: {card.name}, {card.memory_gib:.1f} GiB, {card.free_gib:.1f} GiB free, driver {card.driver}"
        + (f" ({check.gpu})" if check.gpu else "")
    )
    if check.asked is not None:
        one = check.asked
        verdict = f"fits with {one.headroom_gib:.1f} GiB to spare" if one.fits else f"lacks {-one.headroom_gib:.1f} GiB"
        print(f"  {one.technique}: needs {one.need_gib:.1f} GiB, {verdict}")
    for other in check.others:
        print(f"  {other.technique} would fit: needs {other.need_gib:.1f} GiB, {other.headroom_gib:.1f} GiB to spare")
    for advice in check.advice:
        print(f"  {advice}")
