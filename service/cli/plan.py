"""`gpuplan plan`: the ranking of cloud offers beside own hardware, as a table or as the JSON of `POST /plan`."""

import sys
from typing import Annotated, Any

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, NOTHING_FITS, USAGE, CommandError, guarded
from service.cli.quantities import hours


def plan(
    model: opt.Model = None,
    params_b: opt.ParamsB = None,
    config: opt.Config = None,
    task: opt.Task = "train",
    technique: opt.Technique = None,
    tokens: opt.Tokens = None,
    examples: opt.Examples = None,
    epochs: opt.Epochs = None,
    mean_tokens: opt.MeanTokens = None,
    requests_per_second: opt.RequestsPerSecond = None,
    prompt_tokens: opt.PromptTokens = None,
    output_tokens: opt.OutputTokens = None,
    vram_gib: opt.VramGib = None,
    gpu_count: opt.GpuCount = None,
    gpu_hours: opt.GpuHours = None,
    dataset_gb: opt.DatasetGb = None,
    disk_gb: opt.DiskGb = None,
    checkpoints: opt.Checkpoints = None,
    precision: opt.Precision = None,
    quantization: opt.Quantization = None,
    optimizer: opt.Optimizer = None,
    framework: opt.Framework = None,
    strategy: opt.Strategy = None,
    sequence_length: opt.SequenceLength = None,
    micro_batch_size: opt.MicroBatchSize = None,
    gradient_checkpointing: opt.GradientCheckpointing = None,
    lora_rank: opt.LoraRank = None,
    runs: opt.Runs = None,
    runs_per_month: opt.RunsPerMonth = None,
    hours_per_month: opt.HoursPerMonth = None,
    utilization: opt.Utilization = None,
    reference_gpu: opt.ReferenceGpu = None,
    horizon_months: opt.HorizonMonths = None,
    sensitivity: opt.Sensitivity = None,
    regime: opt.Regimes = None,
    region: opt.Residency = None,
    capacity: opt.Capacity = None,
    provider: opt.Providers = None,
    exclude_provider: opt.ExcludeProviders = None,
    gpu: opt.Gpus = None,
    min_availability: opt.MinAvailability = None,
    deadline: opt.Deadline = None,
    max_usd_per_hour: opt.MaxUsdPerHour = None,
    max_usd_per_gpu_hour: opt.MaxUsdPerGpuHour = None,
    max_usd_total: opt.MaxUsdTotal = None,
    max_price_age_hours: opt.MaxPriceAgeHours = None,
    on_prem: opt.OnPrem = None,
    request: opt.RequestFile = None,
    limit: opt.Limit = None,
    save: opt.Save = None,
    owner: opt.Owner = None,
    note: opt.Note = None,
    explain: Annotated[
        int | None, typer.Option(help="Show the cost lines and reasons of this rank.", rich_help_panel="How to answer")
    ] = None,
    json_: opt.AsJson = False,
) -> int:
    """Rank where to run a workload: cheapest first, with reasons, exclusions and rent-or-own."""
    given = dict(locals())
    kept = _kept(save, owner, note)
    if request is not None:
        from service.cli.request import read_json

        body = read_json(request, "--request")
        return _answer({**body, **kept} if isinstance(body, dict) else body, as_json=json_, explain=explain)
    from service.cli.request import on_prem_entries, usage_body, without_absent, workload_body

    body = {
        "workload": workload_body(given),
        "usage": usage_body(given),
        "constraints": {
            "data_sensitivity": sensitivity,
            "regimes": regime,
            "residency": region,
            "capacity_types": capacity,
            "providers": provider,
            "exclude_providers": exclude_provider,
            "gpus": gpu,
            "min_availability": min_availability,
            "deadline_hours": hours(deadline, "--deadline"),
            "max_usd_per_hour": max_usd_per_hour,
            "max_usd_per_gpu_hour": max_usd_per_gpu_hour,
            "max_usd_total": max_usd_total,
            "max_price_age_hours": max_price_age_hours,
        },
        "on_prem": on_prem_entries(on_prem or []),
        "limit": limit,
    }
    return _answer(without_absent({**body, **kept}), as_json=json_, explain=explain)


def _kept(save: str | None, owner: str | None, note: str | None) -> dict[str, Any]:
    """The `save` part of the request."""
    if save is None:
        if owner is not None or note is not None:
            raise CommandError("--owner and --note belong to --save", code=USAGE)
        return {}
    if owner is None:
        raise CommandError("--save needs --owner", code=USAGE)
    return {"save": {"name": save, "owner": owner, "note": note or ""}}


def _answer(body: Any, *, as_json: bool, explain: int | None) -> int:
    from service.cli.market import open_market
    from service.cli.request import plan_request

    request = plan_request(body)
    answered = guarded(lambda: open_market().plan(request))
    if request.fields is None:
        from service.cli.last_plan import keep_plan

        keep_plan(answered)
    if as_json:
        from service.cli.render import print_json

        print_json(answered)
    else:
        from service.cli.plan_view import show_plan

        show_plan(answered, explain=explain)
    if request.save is not None:
        print(f"saved as plan {answered.plan_id}: gpuplan plans show {answered.plan_id}", file=sys.stderr)
    return FOUND if answered.options else NOTHING_FITS
