"""CardRates: what one card computes, reads and sends per second, as sustained rates in SI units."""

import re
from dataclasses import dataclass
from functools import lru_cache

from providers.errors import InvalidInput
from providers.gpus import Gpu
from providers.units import GIB
from service.estimate.time_constants import TIME, TimeConstants, share_of

_GEFORCE = re.compile(r"RTX \d0\d0\b")  # RTX 3090, 4090, 5090; the workstation cards are named RTX A6000, RTX 6000 Ada
TERA = 1e12
GIGA = 1e9
CHIP_TFLOPS_PER_FP32 = 4.0  # GeForce names half of its chip's 16-bit rate: that of 32-bit accumulation


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRates:
    """Bytes and operations per second of one card.

    `matmul_*` are what a long step sustains: the measured or published rate times the share of the architecture.
    A card without a unit for a format computes it at the next wider one (fp4 as fp8, fp8 as 16-bit), `notes` says so.
    """

    name: str
    architecture: str
    bandwidth: float  # as published
    streamed: float  # what reading weights at 16 bits reaches of it
    is_gddr: bool
    peak_16bit: float
    matmul_16bit: float
    matmul_fp8: float
    matmul_fp4: float
    matmul_fp32: float
    matmul_half_accumulate: float  # sums kept in 16 bits or integers: GeForce does these at its chip's full rate
    has_peer_to_peer: bool  # GeForce cards copy through the machine's memory
    nvlink: float  # one way, 0 where there is none
    pcie: float  # one way
    usable_bytes: float
    notes: tuple[str, ...]


@lru_cache(maxsize=1024)
def rates_of(gpu: Gpu, constants: TimeConstants = TIME) -> CardRates:
    """Sustained rates of a card; a format without a published rate falls back, with a note.

    Raises:
        InvalidInput: neither a 16-bit nor an fp32 rate, or no bandwidth, is known: nothing can be timed on it.
    """
    matmul = constants.matmul
    peak_16bit = gpu.bf16_tflops or gpu.fp16_tflops or gpu.fp32_tflops
    if not peak_16bit or not gpu.bandwidth_gb_per_s:
        raise InvalidInput(f"no rate is known for {gpu.name}: its compute or its memory bandwidth is missing")
    notes = [] if gpu.bf16_tflops else [f"{gpu.name} has no bf16 rate: its fp16 rate is used"]
    sustained = _sustained_tflops(gpu, peak_16bit, constants)
    share = sustained / peak_16bit
    fp8 = (gpu.fp8_tflops or 0.0) * share * matmul.fp8_relative
    fp4 = (gpu.fp4_tflops or 0.0) * share * matmul.fp4_relative
    is_gddr = gpu.memory_type.startswith("GDDR")
    memory = constants.decode.gddr_relative if is_gddr else 1.0
    chip = max(peak_16bit, CHIP_TFLOPS_PER_FP32 * gpu.fp32_tflops) if is_gddr else peak_16bit
    return CardRates(
        name=gpu.name,
        architecture=gpu.architecture,
        bandwidth=gpu.bandwidth_gb_per_s * GIGA,
        streamed=gpu.bandwidth_gb_per_s * GIGA * constants.decode.bandwidth_share * memory,
        is_gddr=is_gddr,
        peak_16bit=peak_16bit * TERA,
        matmul_16bit=sustained * TERA,
        matmul_fp8=max(fp8, sustained) * TERA,
        matmul_fp4=max(fp4, fp8, sustained) * TERA,
        matmul_fp32=min(gpu.fp32_tflops * matmul.fp32_share, sustained) * TERA,
        matmul_half_accumulate=max(sustained, _sustained_tflops(gpu, chip, constants)) * TERA,
        has_peer_to_peer=_GEFORCE.match(gpu.name) is None,
        nvlink=gpu.nvlink_gb_per_s / 2 * GIGA,
        pcie=(gpu.pcie_gb_per_s_per_direction) * GIGA,
        usable_bytes=gpu.usable_gib * GIB,
        notes=tuple(notes),
    )


def _sustained_tflops(gpu: Gpu, peak: float, constants: TimeConstants) -> float:
    """16-bit matmul rate of a long step: a share of the measured rate, else of a peak as far as the power lasts.

    A card with fewer watts per TFLOPS than the reference of its kind lowers its clock: rate ~ power ** exponent.
    """
    matmul, kind = constants.matmul, architecture_kind(gpu)
    if gpu.measured_bf16_tflops:
        return gpu.measured_bf16_tflops * share_of(matmul.of_measured, kind)
    wanted = share_of(matmul.watts_per_tflops, kind) * peak
    power = min(1.0, gpu.tdp_watts / wanted) if wanted else 1.0
    return float(peak * share_of(matmul.of_peak, kind) * power**matmul.power_exponent)


def architecture_kind(gpu: Gpu) -> str:
    """The architecture, with " GDDR" behind it for the workstation and consumer chips of that name."""
    return f"{gpu.architecture} GDDR" if gpu.memory_type.startswith("GDDR") else gpu.architecture


def matmul_rate(rates: CardRates, precision: str) -> float:
    """Sustained operations per second of the linear layers at a compute precision (bf16, fp16, fp8, int8, fp4, fp32)."""
    if precision in ("fp8", "int8"):
        return rates.matmul_fp8
    if precision == "fp4":
        return rates.matmul_fp4
    return rates.matmul_fp32 if precision == "fp32" else rates.matmul_16bit
