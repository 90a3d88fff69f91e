"""`gpuplan plan`: the ranking of cloud offers beside own hardware, as a table or as the JSON of `POST /plan`."""

from typing import Annotated, Any

import typer

from service.cli.exits import FOUND, NOTHING_FITS, USAGE, CommandError, guarded
from service.cli.quantities import amount, hours

Work = {"rich_help_panel": "The work"}
How = {"rich_help_panel": "How it is computed"}
Load = {"rich_help_panel": "How much of it"}
Must = {"rich_help_panel": "What must hold"}
Show = {"rich_help_panel": "How to answer"}


def plan(
    model: Annotated[str | None, typer.Option(help="A known name or Hugging Face id, e.g. llama-3.1-8b.", **Work)] = None,
    params_b: Annotated[float | None, typer.Option(help="Parameters in billions, when the model has no known name.", **Work)] = None,
    config: Annotated[str | None, typer.Option(help="File with the model's config.json (- for standard input).", **Work)] = None,
    task: Annotated[str, typer.Option(help="train, infer or raw.", **Work)] = "train",
    technique: Annotated[str | None, typer.Option(help="full, lora, qlora, dpo, ...", **Work)] = None,
    tokens: Annotated[str | None, typer.Option(help="Training tokens of one run: 50M, 1.5B.", **Work)] = None,
    examples: Annotated[str | None, typer.Option(help="Training examples, with --mean-tokens (and --epochs).", **Work)] = None,
    epochs: Annotated[float | None, typer.Option(**Work)] = None,
    mean_tokens: Annotated[float | None, typer.Option(**Work)] = None,
    requests_per_second: Annotated[float | None, typer.Option(help="infer: the request rate to serve.", **Work)] = None,
    prompt_tokens: Annotated[int | None, typer.Option(**Work)] = None,
    output_tokens: Annotated[int | None, typer.Option(**Work)] = None,
    vram_gib: Annotated[float | None, typer.Option(help="raw: memory needed on each GPU.", **Work)] = None,
    gpu_count: Annotated[int | None, typer.Option(help="raw: GPUs needed.", **Work)] = None,
    gpu_hours: Annotated[float | None, typer.Option(help="raw: GPU-hours on the reference GPU.", **Work)] = None,
    dataset_gb: Annotated[float | None, typer.Option(**Work)] = None,
    disk_gb: Annotated[float | None, typer.Option(help="Local disk that the job needs.", **Work)] = None,
    checkpoints: Annotated[str | None, typer.Option(help="Can the job resume: yes, no, unknown.", **Work)] = None,
    precision: Annotated[str | None, typer.Option(help="bf16, fp16, fp32, fp8, int8, int4, fp4.", **How)] = None,
    quantization: Annotated[str | None, typer.Option(help="nf4, nf4_double, gptq, awq, gguf_q4_k_m, ...", **How)] = None,
    optimizer: Annotated[str | None, typer.Option(**How)] = None,
    framework: Annotated[str | None, typer.Option(help="hf, torchtune, litgpt, vllm, ... (tells most about memory).", **How)] = None,
    strategy: Annotated[str | None, typer.Option(help="ddp, zero2, zero3, fsdp, tensor_parallel, ...", **How)] = None,
    sequence_length: Annotated[int | None, typer.Option(**How)] = None,
    micro_batch_size: Annotated[int | None, typer.Option(**How)] = None,
    gradient_checkpointing: Annotated[bool | None, typer.Option(**How)] = None,
    lora_rank: Annotated[int | None, typer.Option(**How)] = None,
    runs: Annotated[float | None, typer.Option(help="How often, once and for all (default 1).", **Load)] = None,
    runs_per_month: Annotated[float | None, typer.Option(**Load)] = None,
    hours_per_month: Annotated[float | None, typer.Option(help="Busy hours on the reference GPU.", **Load)] = None,
    utilization: Annotated[float | None, typer.Option(help="Busy share of the reference GPU or pool, 0 to 1.", **Load)] = None,
    reference_gpu: Annotated[str | None, typer.Option(**Load)] = None,
    horizon_months: Annotated[int | None, typer.Option(**Load)] = None,
    sensitivity: Annotated[str | None, typer.Option(help="public, internal, confidential, restricted, local_only.", **Must)] = None,
    regime: Annotated[list[str] | None, typer.Option(help="hipaa, pci, gdpr, fedramp, export_controlled.", **Must)] = None,
    region: Annotated[
        list[str] | None, typer.Option(help="EU, EEA, EUROPE, a country code or a region name; may be repeated.", **Must)
    ] = None,
    capacity: Annotated[list[str] | None, typer.Option(help="on_demand, spot, reserved; may be repeated.", **Must)] = None,
    provider: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.", **Must)] = None,
    exclude_provider: Annotated[list[str] | None, typer.Option(**Must)] = None,
    gpu: Annotated[list[str] | None, typer.Option(help="A family (A100) or a card (H100 SXM); may be repeated.", **Must)] = None,
    min_availability: Annotated[str | None, typer.Option(help="any, not_sold_out, available.", **Must)] = None,
    deadline: Annotated[str | None, typer.Option(help="24, 90min, 3d.", **Must)] = None,
    max_usd_per_hour: Annotated[float | None, typer.Option(help="Of the whole option.", **Must)] = None,
    max_usd_per_gpu_hour: Annotated[float | None, typer.Option(help="Of one GPU.", **Must)] = None,
    max_usd_total: Annotated[float | None, typer.Option(help="Of the whole work.", **Must)] = None,
    max_price_age_hours: Annotated[float | None, typer.Option(**Must)] = None,
    on_prem: Annotated[
        list[str] | None, typer.Option(help='Own hardware: "default", a stored name, JSON or @FILE; may be repeated.', **Must)
    ] = None,
    request: Annotated[str | None, typer.Option(help="A whole request as JSON (- for standard input); takes no other input.", **Show)] = None,
    limit: Annotated[int | None, typer.Option(help="Rows to rank (default 20).", **Show)] = None,
    explain: Annotated[int | None, typer.Option(help="Show the cost lines and reasons of this rank.", **Show)] = None,
    json_: Annotated[bool, typer.Option("--json", help="The answer of POST /plan on stdout.", **Show)] = False,
) -> int:
    """Rank where to run a workload: cheapest first, with reasons, exclusions and rent-or-own."""
    body: Any
    if request is not None:
        from service.cli.request import read_json

        body = read_json(request, "--request")
    else:
        from service.cli.request import on_prem_entries, read_json, without_absent

        named = [one for one in (model, params_b, config) if one is not None]
        if len(named) > 1:
            raise CommandError("give one of --model, --params-b and --config", code=USAGE)
        any_model: Any = model
        if params_b is not None:
            any_model = {"params_b": params_b}
        elif config is not None:
            any_model = read_json(config, "--config")
        if task != "raw" and any_model is None:
            raise CommandError("which model? --model llama-3.1-8b, --params-b 13 or --config FILE", code=USAGE)
        body = without_absent(
            {
                "workload": {
                    "task": task,
                    "model": any_model,
                    "technique": technique,
                    "precision": precision,
                    "quantization": quantization,
                    "optimizer": optimizer,
                    "framework": framework,
                    "strategy": strategy,
                    "sequence_length": sequence_length,
                    "micro_batch_size": micro_batch_size,
                    "gradient_checkpointing": gradient_checkpointing,
                    "lora_rank": lora_rank,
                    "tokens": amount(tokens, "--tokens"),
                    "examples": amount(examples, "--examples"),
                    "epochs": epochs,
                    "mean_tokens": mean_tokens,
                    "requests_per_second": requests_per_second,
                    "prompt_tokens": prompt_tokens,
                    "output_tokens": output_tokens,
                    "vram_gib": vram_gib,
                    "gpu_count": gpu_count,
                    "gpu_hours": gpu_hours,
                    "data": {"dataset_gb": dataset_gb, "disk_gb": disk_gb},
                    "checkpoint": {"supported": checkpoints},
                },
                "usage": _usage(
                    runs=runs,
                    runs_per_month=runs_per_month,
                    hours_per_month=hours_per_month,
                    utilization=utilization,
                    reference_gpu=reference_gpu,
                    horizon_months=horizon_months,
                ),
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
        )
    return _answer(body, as_json=json_, explain=explain)


def _usage(**given: float | str | None) -> dict[str, float | str | None]:
    """The usage part: one run when no amount is given but another field of it is."""
    amounts = ("runs", "runs_per_month", "hours_per_month", "utilization")
    if any(value is not None for value in given.values()) and all(given[name] is None for name in amounts):
        return {**given, "runs": 1.0}
    return dict(given)


def _answer(body: Any, *, as_json: bool, explain: int | None) -> int:
    from service.cli.market import open_market
    from service.cli.request import plan_request

    request = plan_request(body)
    answered = guarded(lambda: open_market().plan(request))
    if as_json:
        from service.cli.render import print_json

        print_json(answered)
    else:
        from service.cli.plan_view import show_plan

        show_plan(answered, explain=explain)
    return FOUND if answered.options else NOTHING_FITS
