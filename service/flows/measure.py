"""Measure: a few real steps of a workload on the local GPU, as a row of the measured tables.

The model is built from its sizes with random weights: memory and time do not depend on their values, nothing is loaded
from anywhere, and no code of a repository runs. Needs the extra `measure` (torch, transformers, peft).
"""

import csv
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from providers.errors import InvalidInput, OptimizerError, UnknownGpu
from providers.gpus import find_gpu
from providers.units import GIB
from service.domain.workload import Optimizer, Precision, Task, Technique
from service.estimate.adapters import parse_targets
from service.estimate.job import JobShape
from service.flows.measured_row import COLUMNS, Measurement, row_of

WARM_UP: Final = 2  # steps that are not timed: kernels are chosen and the optimizer makes its states
LIBRARIES: Final = ("torch", "transformers", "peft")
_PROJECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "q": ("q_proj",),
    "k": ("k_proj",),
    "v": ("v_proj",),
    "o": ("o_proj",),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
}


class CannotMeasure(OptimizerError):
    """A library is not installed, there is no GPU, or the workload does not fit it."""

    code = "cannot-measure"


def measure(job: JobShape, *, steps: int, device: str = "cuda", tick: Callable[[], float] = time.perf_counter) -> Measurement:
    """Runs the job's step on one device and reads its peak memory and its pace.

    Raises:
        CannotMeasure: see its name.
        InvalidInput: the job is of a kind that is not measured here.
    """
    check_measurable(job)
    torch = _torch(device)
    try:
        step, tokens = (_training if job.task is Task.TRAIN else _decoding)(job, torch, device)
        for _ in range(WARM_UP):
            step()
        _settle(torch, device)
        begun = tick()
        for _ in range(steps):
            step()
        _settle(torch, device)
    except torch.cuda.OutOfMemoryError as error:
        raise CannotMeasure("the workload does not fit this GPU: there is nothing to measure") from error
    peak = torch.cuda.max_memory_allocated() / GIB if device == "cuda" else None
    return Measurement(
        gpu=_card(torch) if device == "cuda" else "CPU",
        peak_gib=peak,
        tokens_per_second=steps * tokens / (tick() - begun),
        steps=steps,
        libraries=", ".join(f"{name} {version(name)}" for name in LIBRARIES),
    )


def check_measurable(job: JobShape) -> None:
    """Passes dense Llama-like decoders in full, LoRA and 16-bit inference.

    Raises:
        InvalidInput: another kind, with the pointer of what is different.
    """
    model = job.model
    if model.kind != "decoder" or model.is_moe or not model.is_gated or model.norm != "rms" or model.attention != "gqa":
        raise InvalidInput("only dense decoders with a gated MLP and RMS norms are measured", pointer="/workload/model")
    if job.quantization is not None or job.precision not in (Precision.BF16, Precision.FP32):
        raise InvalidInput("only bf16 and fp32 weights are measured", pointer="/workload/precision", allowed=["bf16", "fp32"])
    if job.technique not in (None, Technique.FULL, Technique.CONTINUED_PRETRAINING, Technique.LORA):
        raise InvalidInput("only full and lora are measured", pointer="/workload/technique", allowed=["full", "lora"])
    if job.task is Task.TRAIN and job.optimizer is not Optimizer.ADAMW:
        raise InvalidInput("only AdamW is measured", pointer="/workload/optimizer", allowed=["adamw"])


def append_row(path: Path, job: JobShape, found: Measurement, *, source: str) -> dict[str, str]:
    """Adds the measurement to a table, which is made where there is none; a table keeps its own columns.

    Raises:
        InvalidInput: the file is there and lacks a column that the row needs, or cannot be written.
    """
    try:
        exists = path.exists() and path.stat().st_size > 0
        columns, count = _header(path) if exists else (COLUMNS, 0)
        row = row_of(job, found, source=source, number=count + 1)
        if missing := [name for name in COLUMNS if row.get(name) and name not in columns]:
            raise InvalidInput(f"the table lacks the columns {', '.join(missing)}")
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
            if not exists:
                writer.writeheader()
            writer.writerow(row)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"the table cannot be written ({type(error).__name__})") from error
    return row


def _header(path: Path) -> tuple[tuple[str, ...], int]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        return tuple(reader.fieldnames or ()), sum(1 for _ in reader)


def _torch(device: str) -> Any:
    try:
        torch, _, _ = (import_module(name) for name in LIBRARIES)
    except ImportError as error:
        raise CannotMeasure("measuring needs torch, transformers and peft: pip install 'gpu-cost-optimizer[measure]'") from error
    if device == "cuda":
        if not torch.cuda.is_available():
            raise CannotMeasure("no GPU is found on this machine")
        torch.cuda.reset_peak_memory_stats()
    return torch


def _settle(torch: Any, device: str) -> None:
    """Waits for what was only queued."""
    if device == "cuda":
        torch.cuda.synchronize()


def _card(torch: Any) -> str:
    name = str(torch.cuda.get_device_name(0))
    memory_mib = torch.cuda.get_device_properties(0).total_memory / 2**20
    try:
        return find_gpu(name, memory_mib=memory_mib).gpu.name
    except UnknownGpu:
        return name  # as the driver calls it: a table of the user's own may hold it


def _model(job: JobShape, torch: Any, device: str) -> Any:
    """The network of these sizes in random weights of the job's format."""
    shape = job.model
    config = import_module("transformers").LlamaConfig(
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocab,
        max_position_embeddings=max(shape.context, job.sequence_length),
        tie_word_embeddings=shape.tied_embeddings,
        attention_bias=shape.attn_bias,
        attn_implementation="sdpa" if job.flash_attention else "eager",
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if job.precision is Precision.BF16 else torch.float32)
    try:
        with torch.device(device):
            return import_module("transformers").LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)


def _training(job: JobShape, torch: Any, device: str) -> tuple[Callable[[], None], int]:
    model = _model(job, torch, device)
    if job.gradient_checkpointing:
        # transformers 5 renamed it and warns of the older name
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})
    if job.uses_adapters:
        peft = import_module("peft")
        wanted = sorted(layer for part in parse_targets(job.lora_targets) for layer in _PROJECTIONS.get(part, ()))
        model = peft.get_peft_model(model, peft.LoraConfig(r=job.lora_rank, target_modules=wanted, task_type="CAUSAL_LM"))
    model.train()
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-5)
    batch = torch.randint(0, job.model.vocab, (job.micro_batch_size, job.sequence_length), device=device)

    def step() -> None:
        for _ in range(job.gradient_accumulation_steps):
            model(input_ids=batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, job.micro_batch_size * job.sequence_length * job.gradient_accumulation_steps


def _decoding(job: JobShape, torch: Any, device: str) -> tuple[Callable[[], None], int]:
    model = _model(job, torch, device).eval()
    prompt = torch.randint(0, job.model.vocab, (job.micro_batch_size, job.prompt_tokens), device=device)
    exactly = {"min_new_tokens": job.output_tokens, "max_new_tokens": job.output_tokens, "do_sample": False, "pad_token_id": 0}

    def step() -> None:
        with torch.inference_mode():
            model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), **exactly)

    return step, job.micro_batch_size * job.output_tokens
