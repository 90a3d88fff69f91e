"""What a VM size of Azure holds: the price list names a size and nothing of it, so its machine is a table.

Source: azure_shapes.csv names the source of each row. A count below 1 is a share of one card (1/6, 1/3 or 1/2 of an A10),
and `gpu_memory_gb` the memory of that share.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from providers.gpus import GPUS, Gpu, GpuMatch
from providers.interconnect import interconnect_of
from providers.offer import Arch, Fabric, Interconnect
from providers.units import GB, GIB

CONFIDENTIAL_TIER = "confidential-vm"
_GPU_SERIES = re.compile(r"standard_n[cdgv]c?\d", re.IGNORECASE)  # NP are FPGAs


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One VM size."""

    size: str
    gpu: Gpu
    gpu_count: float
    gpu_memory_gb: float
    vcpus: float
    memory_gib: float | None
    temp_disk_gb: float | None
    fabric: Fabric
    arch: Arch
    tier: str

    @property
    def is_confidential(self) -> bool:
        return self.tier == CONFIDENTIAL_TIER

    @property
    def interconnect(self) -> Interconnect:
        """Between the cards of this size; a single card or a share of one has no link."""
        if self.gpu_count <= 1:
            return Interconnect.NONE
        return interconnect_of(GpuMatch(gpu=self.gpu, form_factor=self.gpu.form_factor))


@cache
def shapes() -> Mapping[str, Shape]:
    """All sizes with a GPU, by their name in lower case."""
    text = files("providers.azure").joinpath("azure_shapes.csv").read_text(encoding="utf-8")
    return MappingProxyType({row["size"].casefold(): _shape(row) for row in csv.DictReader(text.splitlines())})


def looks_like_gpu_size(size: str) -> bool:
    """True for a name of the GPU series, known or not: a new one must be counted, not taken for a CPU machine."""
    return _GPU_SERIES.match(size) is not None


def _shape(row: Mapping[str, str]) -> Shape:
    disk = row["temp_disk_gib"]
    return Shape(
        size=row["size"],
        gpu=GPUS[row["gpu"]],
        gpu_count=float(Fraction(row["gpu_count"])),
        gpu_memory_gb=float(row["gpu_memory_gb"]),
        vcpus=float(row["vcpus"]),
        memory_gib=float(row["memory_gib"]) if row["memory_gib"] else None,
        temp_disk_gb=float(disk) * GIB / GB if disk else None,
        fabric=Fabric(row["fabric"]),
        arch=Arch(row["arch"]),
        tier=row["tier"],
    )
