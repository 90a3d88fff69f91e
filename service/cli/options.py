"""The options that several commands share, each defined once: the fields of a request under the same names."""

from typing import Annotated, Any

import typer

_WORK: dict[str, Any] = {"rich_help_panel": "The work"}
_HOW: dict[str, Any] = {"rich_help_panel": "How it is computed"}
_LOAD: dict[str, Any] = {"rich_help_panel": "How much of it"}
_MUST: dict[str, Any] = {"rich_help_panel": "What must hold"}
_SHOW: dict[str, Any] = {"rich_help_panel": "How to answer"}

Model = Annotated[str | None, typer.Option(help="A known name or Hugging Face id, e.g. llama-3.1-8b.", **_WORK)]
ParamsB = Annotated[float | None, typer.Option(help="Parameters in billions, when the model has no known name.", **_WORK)]
Config = Annotated[str | None, typer.Option(help="File with the model's config.json (- for standard input).", **_WORK)]
Task = Annotated[str, typer.Option(help="train, infer or raw.", **_WORK)]
Technique = Annotated[str | None, typer.Option(help="full, lora, qlora, dpo, ...", **_WORK)]
Tokens = Annotated[str | None, typer.Option(help="Training tokens of one run: 50M, 1.5B.", **_WORK)]
Examples = Annotated[str | None, typer.Option(help="Training examples, with --mean-tokens (and --epochs).", **_WORK)]
Epochs = Annotated[float | None, typer.Option(help="Times that each example is seen.", **_WORK)]
MeanTokens = Annotated[float | None, typer.Option(help="Tokens of an example.", **_WORK)]
RequestsPerSecond = Annotated[float | None, typer.Option(help="infer: the request rate to serve.", **_WORK)]
PromptTokens = Annotated[int | None, typer.Option(help="infer: tokens read by a request.", **_WORK)]
OutputTokens = Annotated[int | None, typer.Option(help="infer: tokens written by a request.", **_WORK)]
VramGib = Annotated[float | None, typer.Option(help="raw: memory needed on each GPU.", **_WORK)]
GpuCount = Annotated[int | None, typer.Option(help="raw: GPUs needed.", **_WORK)]
GpuHours = Annotated[float | None, typer.Option(help="raw: GPU-hours on the reference GPU.", **_WORK)]
DatasetGb = Annotated[float | None, typer.Option(help="Data that the job reads.", **_WORK)]
DiskGb = Annotated[float | None, typer.Option(help="Local disk that the job needs.", **_WORK)]
Checkpoints = Annotated[str | None, typer.Option(help="Can the job resume: yes, no, unknown.", **_WORK)]

Precision = Annotated[str | None, typer.Option(help="bf16, fp16, fp32, fp8, int8, int4, fp4.", **_HOW)]
Quantization = Annotated[str | None, typer.Option(help="nf4, nf4_double, gptq, awq, gguf_q4_k_m, ...", **_HOW)]
Optimizer = Annotated[str | None, typer.Option(help="adamw, adamw_8bit, paged_adamw_8bit, adafactor, sgd, lion, ...", **_HOW)]
Framework = Annotated[str | None, typer.Option(help="hf, torchtune, litgpt, vllm, ... (tells most about memory).", **_HOW)]
Strategy = Annotated[str | None, typer.Option(help="ddp, zero2, zero3, fsdp, tensor_parallel, ...", **_HOW)]
SequenceLength = Annotated[int | None, typer.Option(help="Tokens of a sequence.", **_HOW)]
MicroBatchSize = Annotated[int | None, typer.Option(help="Sequences on a GPU at once.", **_HOW)]
GradientCheckpointing = Annotated[bool | None, typer.Option(help="Recompute activations instead of keeping them.", **_HOW)]
LoraRank = Annotated[int | None, typer.Option(help="Rank of the adapters.", **_HOW)]

Runs = Annotated[float | None, typer.Option(help="How often, once and for all (default 1).", **_LOAD)]
RunsPerMonth = Annotated[float | None, typer.Option(help="How often each month.", **_LOAD)]
HoursPerMonth = Annotated[float | None, typer.Option(help="Busy hours on the reference GPU.", **_LOAD)]
Utilization = Annotated[float | None, typer.Option(help="Busy share of the reference GPU or pool, 0 to 1.", **_LOAD)]
ReferenceGpu = Annotated[str | None, typer.Option(help="The card that hours and utilization refer to.", **_LOAD)]
HorizonMonths = Annotated[int | None, typer.Option(help="Months that the totals cover (default 36).", **_LOAD)]

Sensitivity = Annotated[str | None, typer.Option(help="public, internal, confidential, restricted, local_only.", **_MUST)]
Regimes = Annotated[list[str] | None, typer.Option(help="hipaa, pci, gdpr, fedramp, export_controlled.", **_MUST)]
Residency = Annotated[
    list[str] | None, typer.Option(help="EU, EEA, EUROPE, a country code or a region name; may be repeated.", **_MUST)
]
Capacity = Annotated[list[str] | None, typer.Option(help="on_demand, spot, reserved; may be repeated.", **_MUST)]
Providers = Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.", **_MUST)]
ExcludeProviders = Annotated[list[str] | None, typer.Option(help="Not these; may be repeated.", **_MUST)]
Gpus = Annotated[list[str] | None, typer.Option(help="A family (A100) or a card (H100 SXM); may be repeated.", **_MUST)]
MinAvailability = Annotated[str | None, typer.Option(help="any, not_sold_out, available.", **_MUST)]
Deadline = Annotated[str | None, typer.Option(help="24, 90min, 3d.", **_MUST)]
MaxUsdPerHour = Annotated[float | None, typer.Option(help="Of the whole option.", **_MUST)]
MaxUsdPerGpuHour = Annotated[float | None, typer.Option(help="Of one GPU.", **_MUST)]
MaxUsdTotal = Annotated[float | None, typer.Option(help="Of the whole work.", **_MUST)]
MaxPriceAgeHours = Annotated[float | None, typer.Option(help="Leave older prices out.", **_MUST)]
OnPrem = Annotated[
    list[str] | None, typer.Option(help='Own hardware: "default", a stored name, JSON or @FILE; may be repeated.', **_MUST)
]

RequestFile = Annotated[
    str | None, typer.Option("--request", help="A whole request as JSON (- for standard input); takes no other input.", **_SHOW)
]
Limit = Annotated[int | None, typer.Option(help="Rows to rank (default 20).", **_SHOW)]
AsJson = Annotated[bool, typer.Option("--json", help="The answer of the REST door, as JSON on stdout.", **_SHOW)]
Save = Annotated[str | None, typer.Option("--save", help="Keep the plan under this name.", **_SHOW)]
Owner = Annotated[str | None, typer.Option(help="Whose plan it is (with --save).", **_SHOW)]
Note = Annotated[str | None, typer.Option(help="Kept with the plan (with --save).", **_SHOW)]
