"""One row of Lambda's list of instance types, and the card that its words mean."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, Field, FiniteFloat, StrictInt

from providers.base import Refused
from providers.gpus import GpuMatch, find_gpu
from providers.offer import MALFORMED, NO_GPU
from providers.places import country_of

_DESCRIPTION = re.compile(r"^(?:(?P<count>\d+)x\s+)?(?P<gpu>[^()]+?)\s*(?:\((?P<memory>\d+)\s*GB(?:\s+(?P<form>\w+))?\))?$")

# Older bodies carry no description. The name alone misleads there (gpu_8x_a100 is SXM4, gpu_1x_a100 PCIe;
# gpu_1x_a100_sxm4 has 40 GB): the names of the 2026-08-20 list, by the whole name, else by what follows the count.
_GPU_OF_OLD_BODY = {
    "gpu_8x_a100": "A100 (40 GB SXM4)",
    "gpu_1x_a100": "A100 (40 GB PCIe)",
    "gpu_2x_a100": "A100 (40 GB PCIe)",
    "gpu_4x_a100": "A100 (40 GB PCIe)",
    "a100_sxm4": "A100 (40 GB SXM4)",
    "a100_80gb_sxm4": "A100 (80 GB SXM4)",
    "a10": "A10 (24 GB PCIe)",
    "a6000": "A6000 (48 GB)",
    "b200_sxm6": "B200 (180 GB SXM6)",
    "gh200": "GH200 (96 GB)",
    "h100_pcie": "H100 (80 GB PCIe)",
    "h100_sxm5": "H100 (80 GB SXM5)",
    "rtx6000": "RTX 6000 (24 GB)",
    "v100": "Tesla V100 (16 GB)",
    "v100_n": "Tesla V100 (16 GB)",
}

_Size = Annotated[FiniteFloat, Field(ge=0)]


class _Specs(BaseModel):
    gpus: Annotated[StrictInt, Field(ge=0, le=72)] | None = None
    vcpus: _Size | None = None
    memory_gib: _Size | None = None
    storage_gib: _Size | None = None


class InstanceType(BaseModel):
    name: str
    description: str = ""
    gpu_description: str = ""
    price_cents_per_hour: Any = None
    architecture: str = ""
    specs: _Specs


class Region(BaseModel):
    name: str
    description: str = ""

    @property
    def country(self) -> str | None:
        """From "State or city, Country" where it stands there, else from the code."""
        return country_of("lambda", self.description.rpartition(",")[2]) or country_of("lambda", self.name)


class Row(BaseModel):
    instance_type: InstanceType
    regions_with_capacity_available: list[Region]


def gpu_and_count(kind: InstanceType) -> tuple[GpuMatch, str, int]:
    """The card, its words in the answer, and how many: a type whose own words disagree is refused."""
    words = kind.gpu_description or kind.description or _old_body_description(kind.name)
    counted, described = _DESCRIPTION.match(kind.description.strip()), _DESCRIPTION.match(words.strip())
    stated = int(counted["count"]) if counted and counted["count"] else None
    count = stated if kind.specs.gpus is None else kind.specs.gpus
    if count == 0:
        raise Refused(NO_GPU, "specs.gpus is 0")
    if count is None or (stated is not None and stated != count):
        raise Refused(MALFORMED, "the number of GPUs is missing, or differs between description and specs")
    if described is None:
        return find_gpu(words), words, count
    memory = described["memory"]
    match = find_gpu(described["gpu"], memory_gb=float(memory) if memory else None, form_factor=described["form"])
    return match, words, count


def _old_body_description(name: str) -> str:
    return _GPU_OF_OLD_BODY.get(name) or _GPU_OF_OLD_BODY.get(re.sub(r"^gpu_\d+x_", "", name), name)
