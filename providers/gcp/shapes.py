"""What a GPU machine of Google Cloud holds and of which priced parts it is made.

Source: gcp_shapes.csv names the source of each row. Memory in GiB; `local_ssd_gib` is what comes with the machine and is
billed apart from it; `bought_as` names the ways a machine of this size may be bought. Cards on N1 machines are attached:
one common machine for each number of cards stands in the table, others can be made.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from providers.gpus import GPUS, Gpu, GpuMatch
from providers.interconnect import interconnect_of
from providers.offer import Interconnect

SSD = "local SSD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One machine type with its cards."""

    machine_type: str
    family: str
    accelerator: str
    gpu: Gpu
    gpu_count: int
    vcpus: int
    memory_gib: int
    local_ssd_gib: int
    is_slice: bool  # the price of the card holds cores, memory and disk
    bought_as: frozenset[str]

    @property
    def interconnect(self) -> Interconnect:
        """Between the cards of this machine; a single card has no link."""
        if self.gpu_count == 1:
            return Interconnect.NONE
        return interconnect_of(GpuMatch(gpu=self.gpu, form_factor=self.gpu.form_factor))

    @property
    def has_attached_cards(self) -> bool:
        """The machine is sold without cards too, so its host prices say nothing of the cards."""
        return self.family == "n1"

    def parts(self, *, with_ssd: bool = True) -> dict[str, int]:
        """Part -> how many units of it an hour costs: cards, vCPUs, GiB of memory, GiB of disk."""
        needed = {gpu_part(self.accelerator): self.gpu_count}
        if self.is_slice:
            return needed
        needed |= {core_part(self.family): self.vcpus, memory_part(self.family): self.memory_gib}
        if with_ssd and self.local_ssd_gib:
            needed[SSD] = self.local_ssd_gib
        return needed


def gpu_part(accelerator: str) -> str:
    return f"GPU {accelerator}"


def core_part(family: str) -> str:
    return f"{family.upper()} core"


def memory_part(family: str) -> str:
    return f"{family.upper()} memory"


@cache
def shapes() -> tuple[Shape, ...]:
    """All machines of the table."""
    text = files("providers.gcp").joinpath("gcp_shapes.csv").read_text(encoding="utf-8")
    return tuple(_shape(row) for row in csv.DictReader(text.splitlines()))


def _shape(row: Mapping[str, str]) -> Shape:
    return Shape(
        machine_type=row["machine_type"],
        family=row["family"],
        accelerator=row["accelerator"],
        gpu=GPUS[row["gpu"]],
        gpu_count=int(row["gpu_count"]),
        vcpus=int(row["vcpus"]),
        memory_gib=int(row["memory_gib"]),
        local_ssd_gib=int(row["local_ssd_gib"]),
        is_slice=row["priced_by"] == "slice",
        bought_as=frozenset(row["bought_as"].split()),
    )


@cache
def cards_of(family: str) -> frozenset[str]:
    """The accelerators that this family's host is sold with."""
    return frozenset(shape.accelerator for shape in shapes() if shape.family == family)
