"""A measurement as a row of the measured tables: the columns of memory and of throughput together."""

from dataclasses import dataclass
from typing import Final

from service.domain.workload import Precision, Task
from service.estimate.job import JobShape

COLUMNS: Final = (
    "id", "source", "model", "params_b", "hidden", "layers", "heads", "kv_heads", "vocab", "intermediate", "technique", "phase",
    "precision", "optimizer", "quant", "lora_rank", "lora_targets", "micro_batch", "seq_len", "input_len", "output_len",
    "grad_checkpointing", "flash_attention", "strategy", "dp", "tp", "pp", "cp", "n_gpus", "gpu", "framework",
    "measured_mem_gb_per_gpu", "unit", "measured", "measured_gib", "tokens_per_s_per_gpu", "confidence", "notes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was read. `peak_gib`: live tensors at the allocator's peak; None on a CPU, whose memory is not counted."""

    gpu: str
    peak_gib: float | None
    tokens_per_second: float
    steps: int
    libraries: str


def row_of(job: JobShape, found: Measurement, *, source: str, number: int) -> dict[str, str]:
    """The row of a measurement; one on a CPU is of confidence C: it is kept and never scored."""
    shape, is_training = job.model, job.task is Task.TRAIN
    peak = "" if found.peak_gib is None else f"{found.peak_gib:.4f}"
    row: dict[str, object] = {
        "id": f"{source}-{number}",
        "source": source,
        "model": shape.name,
        "params_b": f"{shape.params_total_b:.4f}",
        "hidden": shape.hidden,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "vocab": shape.vocab,
        "intermediate": shape.intermediate,
        "technique": ("lora" if job.uses_adapters else "full") if is_training else "inference",
        "phase": "train" if is_training else "decode",
        "precision": "fp32" if job.precision is Precision.FP32 else "bf16-pure" if is_training else "bf16",
        "optimizer": job.optimizer.value if is_training else "",
        "lora_rank": job.lora_rank or "",
        "lora_targets": job.lora_targets,
        "micro_batch": job.micro_batch_size,
        "seq_len": job.sequence_length,
        "input_len": "" if is_training else job.prompt_tokens,
        "output_len": "" if is_training else job.output_tokens,
        "grad_checkpointing": int(job.gradient_checkpointing),
        "flash_attention": "sdpa" if job.flash_attention else "none",
        "strategy": "single",
        **dict.fromkeys(("dp", "tp", "pp", "cp", "n_gpus"), 1),
        "gpu": found.gpu,
        "framework": "hf-peft" if job.uses_adapters else "hf-trainer" if is_training else "hf-generate",
        "measured_mem_gb_per_gpu": peak,
        "unit": "GiB" if peak else "",
        "measured": "torch max allocated" if peak else "",
        "measured_gib": peak,
        "tokens_per_s_per_gpu": f"{found.tokens_per_second:.2f}",
        "confidence": "A" if peak else "C",
        "notes": f"gpuplan measure: {found.steps} steps, random weights, packed; {found.libraries}",
    }
    return {name: str(row.get(name, "")) for name in COLUMNS}
