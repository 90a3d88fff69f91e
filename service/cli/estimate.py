"""`gpuplan estimate`: the memory by part and the hours of a workload on every card, before any price."""

from typing import Annotated

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, NOTHING_FITS, guarded


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
    from service.cli.settings import settings_with
    from service.domain.estimation import EstimateRequest
    from service.flows.calibration import load_calibration
    from service.flows.estimate import make_estimate
    from service.flows.model_lookup import resolved_once

    counts = guarded(lambda: _counts(gpu_counts))
    body = without_absent({"workload": workload_body(dict(locals())), "gpus": gpu, "gpu_counts": counts})
    settings = settings_with()
    calibration = guarded(lambda: load_calibration(settings.calibration_path))
    asked = guarded(lambda: EstimateRequest.model_validate_json(json.dumps(body)))
    answer = guarded(lambda: make_estimate(resolved_once(asked, settings.huggingface), calibration))
    if json_:
        from service.cli.render import print_json

        print_json(answer)
    else:
        from service.cli.estimate_view import show

        show(answer)
    return FOUND if any(card.smallest_gpu_count for card in answer.gpus) else NOTHING_FITS


def _counts(text: str) -> list[int]:
    from providers.errors import InvalidInput

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InvalidInput("whole numbers by comma, as 1,2,4,8", pointer="--gpu-counts")
    return [int(part) for part in parts]
