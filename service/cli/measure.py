"""`gpuplan measure`: a few real steps of a workload on this machine's GPU, added to a table of measurements."""

from typing import Annotated

import typer

from service.cli import options as opt
from service.cli.exits import FOUND, guarded

Out = Annotated[str, typer.Option("--out", help="The table to add the row to; made where there is none.")]
Steps = Annotated[int, typer.Option(help="Timed steps.", min=1, max=1000)]
Source = Annotated[str, typer.Option(help="The name of this set of measurements: calibration leaves out one set at a time.")]
Device = Annotated[str, typer.Option(help="cuda, or cpu to try the command without a GPU (the row is not scored).")]


def measure(
    model: opt.Model = None,
    params_b: opt.ParamsB = None,
    config: opt.Config = None,
    task: opt.Task = "train",
    technique: opt.Technique = None,
    prompt_tokens: opt.PromptTokens = None,
    output_tokens: opt.OutputTokens = None,
    precision: opt.Precision = None,
    sequence_length: opt.SequenceLength = None,
    micro_batch_size: opt.MicroBatchSize = None,
    gradient_checkpointing: opt.GradientCheckpointing = None,
    lora_rank: opt.LoraRank = None,
    steps: Steps = 10,
    source: Source = "local",
    device: Device = "cuda",
    out: Out = "measured.csv",
) -> int:
    """Measure memory and pace of a workload on this GPU; `gpuplan calibrate` reads the table. Needs the extra measure."""
    import json
    import sys
    from pathlib import Path

    from service.cli.request import without_absent, workload_body
    from service.domain.workload import Framework, Workload
    from service.estimate.job_defaults import job_shape
    from service.flows import measure as flow

    given = dict(locals()) | {"framework": Framework.HF.value}
    body = without_absent(workload_body(given))
    job, _ = guarded(lambda: job_shape(Workload.model_validate_json(json.dumps(body))))
    found = guarded(lambda: flow.measure(job, steps=steps, device=guarded_device(device)))
    row = guarded(lambda: flow.append_row(Path(out), job, found, source=source))
    memory = f"{found.peak_gib:.2f} GiB at the peak, " if found.peak_gib is not None else ""
    print(f"{found.gpu}: {memory}{found.tokens_per_second:,.0f} tokens/s; row {row['id']} is in {out}", file=sys.stderr)
    return FOUND


def guarded_device(device: str) -> str:
    """cuda or cpu. Raises InvalidInput for anything else."""
    from providers.errors import InvalidInput

    if device not in ("cuda", "cpu"):
        raise InvalidInput("the device is not known", pointer="--device", allowed=("cuda", "cpu"))
    return device
