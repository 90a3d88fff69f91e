"""Launch cluster: SkyPilot tasks and dstack configurations, pinned to the option's provider, region, card and kind.

Names of clouds and cards are those of the tools' own catalogues, read 2026-11.
"""

import re
from typing import Any, Final

import yaml

from providers.errors import InvalidInput
from providers.gpus import GPUS
from service.domain.plan import PlanOption
from service.flows.launch_job import LaunchJob

# Our provider names -> theirs; those that are absent cannot be launched on by the tool.
SKYPILOT_CLOUDS: Final = {
    "aws": "aws", "gcp": "gcp", "azure": "azure", "lambda": "lambda", "runpod": "runpod", "vast": "vast", "oci": "oci",
    "nebius": "nebius", "fluidstack": "fluidstack", "paperspace": "paperspace", "digitalocean": "do", "verda": "verda",
}  # fmt: skip
DSTACK_BACKENDS: Final = {
    "aws": "aws", "gcp": "gcp", "azure": "azure", "lambda": "lambda", "runpod": "runpod", "vast": "vastai", "oci": "oci",
    "nebius": "nebius", "digitalocean": "digitalocean", "verda": "verda",
}  # fmt: skip
_SKYPILOT_CARDS: Final = {
    "A100-SXM4-80GB": "A100-80GB", "A100-PCIe-80GB": "A100-80GB", "A100-SXM4-40GB": "A100", "A100-PCIe-40GB": "A100",
    "H100-SXM": "H100", "H100-PCIe": "H100", "H100-NVL": "H100", "H200-SXM": "H200", "H200-NVL": "H200",
    "GH200-96GB": "GH200", "GH200-144GB": "GH200", "V100-SXM2-16GB": "V100", "V100-PCIe-16GB": "V100",
    "V100-SXM2-32GB": "V100-32GB", "RTX A4000": "RTXA4000", "RTX A5000": "RTXA5000", "RTX A6000": "RTXA6000",
    "RTX 6000 Ada": "RTX6000-Ada", "RTX 4000 Ada": "RTX4000-Ada", "RTX 5000 Ada": "RTX5000-Ada", "RTX A4500": "RTXA4500",
}  # fmt: skip
# RunPod's list in SkyPilot keeps the form factors apart.
_SKYPILOT_RUNPOD: Final = {"H100-SXM": "H100-SXM", "H100-NVL": "H100-NVL", "H200-SXM": "H200-SXM"}
_DSTACK_CARDS: Final = {"H100-NVL": "H100NVL", "H200-NVL": "H200NVL", "Quadro RTX 6000": "RTX6000"}
_OWN_INSTANCE_TYPES: Final = frozenset({"aws", "gcp", "azure", "lambda", "oci", "nebius"})  # the tools use the cloud's own words


def skypilot_file(job: LaunchJob, option: PlanOption, *, run: str) -> str:
    """A SkyPilot task. Raises InvalidInput: it does not know the provider."""
    cloud = _known(option.provider, SKYPILOT_CLOUDS, "SkyPilot")
    infra = "/".join(
        part for part in (cloud, option.region if option.provider != "vast" else option.country, option.zone) if part
    )
    resources: dict[str, Any] = {
        "infra": infra,
        "accelerators": {_skypilot_card(option): job.gpus},
        "use_spot": option.capacity_type == "spot",
    }
    if option.instance_type and option.provider in _OWN_INSTANCE_TYPES:
        resources["instance_type"] = option.instance_type
    if job.is_service:
        resources["ports"] = 8000
    task = {
        "name": job.name,
        "resources": resources,
        "num_nodes": job.nodes,
        "setup": _setup(job),
        "run": run,
    }
    return _yaml(task)


def dstack_file(job: LaunchJob, option: PlanOption, *, run: str) -> str:
    """A dstack task or service. Raises InvalidInput: it does not know the provider."""
    backend = _known(option.provider, DSTACK_BACKENDS, "dstack")
    card = GPUS[option.gpu]
    config: dict[str, Any] = {
        "type": "service" if job.is_service else "task",
        "name": job.name,
        "python": "3.12",
        "commands": [*_setup(job).splitlines(), run],
        "backends": [backend],
        "spot_policy": "spot" if option.capacity_type == "spot" else "on-demand",
        "resources": {"gpu": {"name": [_dstack_card(option.gpu)], "memory": f"{card.memory_gb:g}GB", "count": job.gpus}},
    }
    if option.region:
        config["regions"] = [option.region]
    if option.instance_type and option.provider in _OWN_INSTANCE_TYPES:
        config["instance_types"] = [option.instance_type]
    if job.is_service:
        config |= {"port": 8000, "model": job.model_id, "replicas": job.groups}
    else:
        config["nodes"] = job.nodes
    return _yaml(config)


def _known(provider: str, names: dict[str, str], tool: str) -> str:
    if provider not in names:
        raise InvalidInput(f"{tool} cannot start machines of this provider", pointer="/format", allowed=["torchrun"])
    return names[provider]


def _skypilot_card(option: PlanOption) -> str:
    own = _SKYPILOT_RUNPOD.get(option.gpu) if option.provider == "runpod" else None
    return own or _SKYPILOT_CARDS.get(option.gpu, option.gpu.replace(" ", ""))


def _dstack_card(gpu: str) -> str:
    return _DSTACK_CARDS.get(gpu) or re.sub(r"^RTX A(?=\d)", "A", GPUS[gpu].family).replace(" ", "")


def _setup(job: LaunchJob) -> str:
    return "pip install vllm" if job.is_service else "pip install -r requirements.txt"


def _yaml(value: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, width=120)
    return text
