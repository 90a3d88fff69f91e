"""What an EC2 machine holds: from DescribeInstanceTypes, from the shipped table without a key, corrected by family.

The service reports memory in MiB and has named GPUs wrongly before (p5en as "NVIDIA", p5.4xlarge with count 0): what
`FAMILIES` says of a family wins over the answer. A fractional machine reports Count 0; its share of one card is
LogicalGpuCount x GpuPartitionSize.
Source: EC2 API model of botocore 1.44.8; instances.csv names the source of each row, read 2026-10.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, Field

from providers.base import Json, Refused
from providers.errors import UnknownGpu
from providers.gpus import GpuMatch, find_gpu
from providers.offer import MALFORMED, NO_GPU, Arch, Interconnect, Rejected
from providers.units import gib_from_mib


@dataclass(frozen=True, slots=True)
class _Family:
    """What is certain of every size of a family: the GPU's canonical name and whether its GPUs are linked."""

    gpu: str
    has_nvlink: bool = False


FAMILIES = {
    "g4dn": _Family("T4"),
    "g5": _Family("A10G"),
    "g5g": _Family("T4G"),
    "g6": _Family("L4"),
    "gr6": _Family("L4"),
    "g6f": _Family("L4"),
    "gr6f": _Family("L4"),
    "g6e": _Family("L40S"),
    "g7": _Family("RTX PRO 4500 Blackwell"),
    "g7e": _Family("RTX PRO 6000 Blackwell Server"),
    "p2": _Family("K80"),
    "p3": _Family("V100-SXM2-16GB", has_nvlink=True),
    "p3dn": _Family("V100-SXM2-32GB", has_nvlink=True),
    "p4d": _Family("A100-SXM4-40GB", has_nvlink=True),
    "p4de": _Family("A100-SXM4-80GB", has_nvlink=True),
    "p5": _Family("H100-SXM", has_nvlink=True),
    "p5e": _Family("H200-SXM", has_nvlink=True),
    "p5en": _Family("H200-SXM", has_nvlink=True),
    "p6-b200": _Family("B200", has_nvlink=True),
    "p6-b300": _Family("B300", has_nvlink=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceFacts:
    """One machine type. `gpu_count` below 1 is a share of one card and `gpu_memory_mib` the memory of that share."""

    instance_type: str
    gpu_raw_name: str
    gpu_count: float
    gpu_memory_mib: float
    vcpus: float
    memory_gib: float
    disk_gb: float | None
    arch: Arch
    efa_interfaces: int
    usage_classes: frozenset[str]

    @property
    def family(self) -> str:
        """The part of the type's name before the dot."""
        return self.instance_type.partition(".")[0]

    @property
    def interconnect(self) -> Interconnect:
        """Between the GPUs of this machine; a single GPU has no link, a family not in the table an unknown one."""
        if self.gpu_count <= 1:
            return Interconnect.NONE
        family = FAMILIES.get(self.family)
        if family is None:
            return Interconnect.UNKNOWN
        return Interconnect.NVLINK if family.has_nvlink else Interconnect.NONE

    def find_gpu(self) -> GpuMatch:
        """The card by family, else by reported name and the memory of the whole card. Raises UnknownGpu."""
        if family := FAMILIES.get(self.family):
            return find_gpu(family.gpu)
        whole_card_mib = self.gpu_memory_mib / min(self.gpu_count, 1.0)
        return find_gpu(self.gpu_raw_name, memory_mib=whole_card_mib)


class _Gpu(BaseModel):  # only the fields we read, here and below
    name: str = Field(alias="Name", default="")
    count: int = Field(alias="Count", default=0, ge=0, le=64)
    logical_count: int | None = Field(alias="LogicalGpuCount", default=None, ge=0, le=64)
    partition_size: float | None = Field(alias="GpuPartitionSize", default=None, gt=0, le=1)
    memory: dict[str, Any] = Field(alias="MemoryInfo", default_factory=dict)


class _InstanceType(BaseModel):
    instance_type: str = Field(alias="InstanceType", min_length=1)
    gpu_info: dict[str, Any] | None = Field(alias="GpuInfo", default=None)
    vcpu_info: dict[str, Any] = Field(alias="VCpuInfo")
    memory_info: dict[str, Any] = Field(alias="MemoryInfo")
    processor_info: dict[str, Any] = Field(alias="ProcessorInfo", default_factory=dict)
    storage_info: dict[str, Any] = Field(alias="InstanceStorageInfo", default_factory=dict)
    network_info: dict[str, Any] = Field(alias="NetworkInfo", default_factory=dict)
    usage_classes: list[str] = Field(alias="SupportedUsageClasses", default_factory=list)


def facts_from_api(raw: Json) -> InstanceFacts:
    """One entry of DescribeInstanceTypes.

    Raises:
        Refused: it has no GPU, several kinds of them, or no count that can be read.
        ValueError, TypeError, KeyError, AttributeError, ArithmeticError: it is not such an entry.
    """
    row = _InstanceType.model_validate(raw)
    gpus = [_Gpu.model_validate(gpu) for gpu in (row.gpu_info or {}).get("Gpus", ())]
    if not gpus:
        raise Refused(NO_GPU, row.instance_type)
    if len({gpu.name for gpu in gpus}) > 1:
        raise Refused(MALFORMED, f"{row.instance_type}: several kinds of GPU")
    efa = row.network_info.get("EfaInfo") or {}
    return InstanceFacts(
        instance_type=row.instance_type,
        gpu_raw_name=gpus[0].name,
        gpu_count=_count(row.instance_type, gpus),
        gpu_memory_mib=_positive(gpus[0].memory["SizeInMiB"]),
        vcpus=_positive(row.vcpu_info["DefaultVCpus"]),
        memory_gib=gib_from_mib(_positive(row.memory_info["SizeInMiB"])),
        disk_gb=_positive(row.storage_info["TotalSizeInGB"]) if "TotalSizeInGB" in row.storage_info else None,
        arch=_arch(row.processor_info.get("SupportedArchitectures", [])),
        efa_interfaces=int(efa.get("MaximumEfaInterfaces", 0)) if row.network_info.get("EfaSupported") else 0,
        usage_classes=frozenset(row.usage_classes),
    )


def with_gpu(entries: Iterable[Json]) -> list[Json]:
    """The entries of DescribeInstanceTypes that have GpuInfo: one in twenty, the key is missing on the others."""
    return [entry for entry in entries if entry.get("GpuInfo")]


def sold_in_blocks(entries: Iterable[Json]) -> list[str]:
    """The names of the entries that Capacity Blocks are sold for."""
    return [
        e["InstanceType"] for e in entries if e.get("InstanceType") and "capacity-block" in e.get("SupportedUsageClasses", ())
    ]


def read_instance_types(entries: list[Json]) -> tuple[dict[str, InstanceFacts], list[Rejected]]:
    """Facts by type of all entries with a GPU, and the entries that could not be read. CPU machines are passed over.

    A machine whose entry cannot be read is still offered: what the shipped table knows of it stands in.
    """
    facts: dict[str, InstanceFacts] = {}
    rejected: list[Rejected] = []
    for index, raw in enumerate(entries):
        try:
            made = facts_from_api(raw)
        except Refused as refusal:
            if refusal.reason == NO_GPU:
                continue
            rejected.append(Rejected(reason=refusal.reason, row=f"instance type {index}", detail=refusal.detail))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            rejected.append(Rejected(reason=MALFORMED, row=f"instance type {index}", detail=type(error).__name__))
        else:
            facts[made.instance_type] = made
            continue
        name = raw.get("InstanceType") if isinstance(raw, dict) else None
        if isinstance(name, str) and (known := shipped_facts().get(name)):
            facts.setdefault(name, known)
    return facts, rejected


@cache
def shipped_facts() -> dict[str, InstanceFacts]:
    """instances.csv by type: for use without a key, and where the service has no readable count."""
    table = (files("providers.aws") / "instances.csv").read_text(encoding="utf-8")
    return {facts.instance_type: facts for facts in _table_rows(csv.DictReader(table.splitlines()))}


def _table_rows(rows: Iterable[Mapping[str, str]]) -> Iterator[InstanceFacts]:
    for row in rows:
        yield InstanceFacts(
            instance_type=row["instance_type"],
            gpu_raw_name=row["gpu"],
            gpu_count=float(row["gpu_count"]),
            gpu_memory_mib=float(row["gpu_memory_mib"]),
            vcpus=float(row["vcpus"]),
            memory_gib=float(row["memory_gib"]),
            disk_gb=float(row["disk_gb"]) if row["disk_gb"] else None,
            arch=Arch(row["arch"]),
            efa_interfaces=int(row["efa_interfaces"]),
            usage_classes=frozenset(row["usage_classes"].split()),
        )


def unknown_type(instance_type: str) -> UnknownGpu:
    """For a machine that is priced with a GPU but described nowhere: a family newer than the table."""
    return UnknownGpu(f"no instance facts for {instance_type[:40]}")


def _count(instance_type: str, gpus: list[_Gpu]) -> float:
    if whole := sum(gpu.count for gpu in gpus):
        return float(whole)
    shares = [gpu.partition_size for gpu in gpus if gpu.partition_size for _ in range(gpu.logical_count or 0)]
    if len(shares) == 1:
        return shares[0]
    if shares:  # an offer says one share of one card
        raise Refused(MALFORMED, f"{instance_type}: {len(shares)} shares of a card")
    if shipped := shipped_facts().get(instance_type):
        return shipped.gpu_count
    raise Refused(MALFORMED, f"{instance_type}: GPU count 0 and no share of a card")


def _positive(value: Any) -> float:
    number = float(value)
    if not 0 < number < float("inf"):
        raise ValueError("not a finite number above 0")
    return number


def _arch(architectures: list[str]) -> Arch:
    if "arm64" in architectures:
        return Arch.ARM64
    return Arch.X86_64 if "x86_64" in architectures else Arch.UNKNOWN
