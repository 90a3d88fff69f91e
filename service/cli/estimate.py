"""`gpuplan estimate`: the memory by part and the hours of a workload on every card, before any price."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, NOTHING_FITS, guarded

if TYPE_CHECKING:
    from service.domain.estimation import EstimateAnswer, GroupFit

BAR_WIDTH = 40


def estimate(
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
    precision: opt.Precision = None,
    quantization: opt.Quantization = None,
    optimizer: opt.Optimizer = None,
    framework: opt.Framework = None,
    strategy: opt.Strategy = None,
    sequence_length: opt.SequenceLength = None,
    micro_batch_size: opt.MicroBatchSize = None,
    gradient_checkpointing: opt.GradientCheckpointing = None,
    lora_rank: opt.LoraRank = None,
    gpu: opt.Gpus = None,
    gpu_counts: Annotated[str, typer.Option(help="GPUs of one machine, by comma.")] = "1,2,4,8",
    json_: opt.AsJson = False,
) -> int:
    """Estimate VRAM by part, what fits where, and hours (low, mid, high) on every card."""
    import json

    from service.cli.request import without_absent, workload_body
    from service.domain.estimation import EstimateRequest
    from service.flows.estimate import make_estimate

    counts = guarded(lambda: _counts(gpu_counts))
    body = without_absent({"workload": workload_body(dict(locals())), "gpus": gpu, "gpu_counts": counts})
    answer = guarded(lambda: make_estimate(EstimateRequest.model_validate_json(json.dumps(body))))
    if json_:
        from service.cli.render import print_json

        print_json(answer)
    else:
        _show(answer)
    return FOUND if any(card.smallest_gpu_count for card in answer.gpus) else NOTHING_FITS


def _counts(text: str) -> list[int]:
    from providers.errors import InvalidInput

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InvalidInput("whole numbers by comma, as 1,2,4,8", pointer="--gpu-counts")
    return [int(part) for part in parts]


def _show(answer: "EstimateAnswer") -> None:
    from rich.markup import escape

    from service.cli.render import about, console, table

    out = console()
    out.print(f"[bold]{escape(answer.summary)}[/bold]")
    out.print(escape(answer.requirement.explained))
    fitting = [one for one in answer.requirement.by_strategy if one.fits] or list(answer.requirement.by_strategy)
    least = min(fitting, key=lambda one: (one.gpu_count, one.safe_gib))
    widest = max(part.gib for part in least.parts)
    parts = table("PART", "GiB", "", right=("GiB",), title=f"One GPU of {least.gpu_count:g}x {least.gpu}, {least.strategy}")
    for part in least.parts:
        parts.add_row(part.name, f"{part.gib:.2f}", "█" * max(1 if part.gib > 0 else 0, round(BAR_WIDTH * part.gib / widest)))
    parts.add_row("point estimate", f"{least.point_gib:.2f}", "", style="bold")
    parts.add_row("safe value (decides what fits)", f"{least.safe_gib:.2f}", f"of {least.usable_gib:.2f} usable", style="bold")
    out.print(parts)
    counts = [group.gpu_count for group in answer.gpus[0].groups]
    cards = table("GPU", "GB", *(f"{count} GPU{'s' if count > 1 else ''}" for count in counts), right=("GB",))
    for card in sorted(answer.gpus, key=lambda one: (one.smallest_gpu_count or 1_000, one.memory_gb, one.gpu)):
        cards.add_row(card.gpu, f"{card.memory_gb:g}", *(escape(_cell(group)) for group in card.groups))
    out.print(cards)
    for assumption in answer.assumptions:
        out.print(f"assumed: {assumption.name} = {assumption.value} {assumption.unit} ({escape(assumption.source)})", style="dim")
    if answer.tokens_per_run:
        out.print(f"Hours are for one run of {about(answer.tokens_per_run)} tokens: low to high.", style="dim")


def _cell(group: "GroupFit") -> str:
    from service.cli.render import about

    if not group.fits:
        return f"- {-group.headroom_gib:.1f} GiB short" if group.reason == "vram" else f"- {group.reason}"
    flag = " !" if group.low_headroom else ""
    speed: Any = group.hours
    if speed is not None:
        return f"{group.strategy} {about(speed.low)}-{about(speed.high)} h{flag}"
    rate = group.tokens_per_second
    return f"{group.strategy} {about(rate.mid)} tok/s{flag}" if rate else f"{group.strategy}{flag}"
