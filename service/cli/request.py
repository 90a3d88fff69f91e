"""From command-line options to the body of `POST /plan`: the same names, the same checks."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.cli.exits import USAGE, CommandError, guarded
from service.cli.quantities import amount

if TYPE_CHECKING:
    from service.domain.request import PlanRequest


def read_json(path: str, option: str) -> Any:
    """The JSON in a file, or on standard input for "-"."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{option}: the file cannot be read ({type(error).__name__})", code=USAGE) from error
    except json.JSONDecodeError as error:
        raise CommandError(f"{option}: not JSON, line {error.lineno} column {error.colno}", code=USAGE) from error


def on_prem_entries(values: list[str]) -> list[Any]:
    """`--on-prem` takes "default", a stored pool's name, or a JSON object or @FILE with the pool's fields."""
    entries: list[Any] = []
    for value in values:
        if value.startswith("@"):
            entries.append(read_json(value[1:], "--on-prem"))
        elif value.lstrip().startswith("{"):
            try:
                entries.append(json.loads(value))
            except json.JSONDecodeError as error:
                raise CommandError(f"--on-prem: not JSON, column {error.colno}", code=USAGE) from error
        else:
            entries.append(value)
    return entries


_SAME_NAME = (
    "task",
    "technique",
    "precision",
    "quantization",
    "optimizer",
    "framework",
    "strategy",
    "sequence_length",
    "micro_batch_size",
    "gradient_checkpointing",
    "lora_rank",
    "epochs",
    "mean_tokens",
    "requests_per_second",
    "prompt_tokens",
    "output_tokens",
    "vram_gib",
    "gpu_count",
    "gpu_hours",
)
_AMOUNTS = ("runs", "runs_per_month", "hours_per_month", "utilization")


def workload_body(given: Mapping[str, Any]) -> dict[str, Any]:
    """The `workload` part from a command's options; absent ones stay None. Raises CommandError: no model, or two."""
    named = [name for name in ("model", "params_b", "config") if given.get(name) is not None]
    if len(named) > 1:
        raise CommandError("give one of --model, --params-b and --config", code=USAGE)
    if given.get("task") != "raw" and not named:
        raise CommandError("which model? --model llama-3.1-8b, --params-b 13 or --config FILE", code=USAGE)
    model: Any = given.get("model")
    if given.get("params_b") is not None:
        model = {"params_b": given["params_b"]}
    elif given.get("config") is not None:
        model = read_json(given["config"], "--config")
    return {
        "model": model,
        "tokens": amount(given.get("tokens"), "--tokens"),
        "examples": amount(given.get("examples"), "--examples"),
        "data": {"dataset_gb": given.get("dataset_gb"), "disk_gb": given.get("disk_gb")},
        "checkpoint": {"supported": given.get("checkpoints")},
        **{name: given.get(name) for name in _SAME_NAME},
    }


def usage_body(given: Mapping[str, Any]) -> dict[str, Any]:
    """The `usage` part; one run when another field of it is given but no amount."""
    usage = {name: given.get(name) for name in (*_AMOUNTS, "reference_gpu", "horizon_months")}
    is_amount_given = any(usage[name] is not None for name in _AMOUNTS)
    if not is_amount_given and any(value is not None for value in usage.values()):
        usage["runs"] = 1.0
    return usage


def without_absent(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same without absent values and empty parts: an option not given is a field not sent."""
    kept: dict[str, Any] = {}
    for name, value in body.items():
        inner = without_absent(value) if isinstance(value, Mapping) else value
        if inner is not None and inner != {} and inner != []:
            kept[name] = inner
    return kept


def plan_request(body: Mapping[str, Any]) -> "PlanRequest":
    """The checked request. Raises CommandError (usage) that names each refused field."""
    from service.domain.request import PlanRequest

    text = json.dumps(body)
    checked: PlanRequest = guarded(lambda: PlanRequest.model_validate_json(text))
    return checked
