"""The GPU table, and the only place where a market's spelling becomes one of its names.

Names of gpus.csv are canonical. A spelling is settled by name and memory and form factor together: what fits no card is
UnknownGpu, never the nearest one. Figures stand in gpus.csv with their source in its note column; rates are dense.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from types import MappingProxyType

from rapidfuzz import fuzz, process

from providers.errors import UnknownGpu
from providers.offer import UNKNOWN_FORM_FACTOR
from providers.units import gb_from_mib

MEMORY_TOLERANCE_FRACTION = 0.07  # drivers report 15360 MiB for a card of 16 GB
_NOT_MARKET_WORDS = frozenset({"nvidia", "geforce", "tesla", "amd", "instinct", "generation", "edition"})
_GLUED_MAKER = re.compile(r"^(?:nvidia|geforce|tesla|amd|instinct)+(?=[a-z]*\d)")
_COUNT = re.compile(r"^\s*\d+\s*x[\s_-]+", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)[\s-]*(?:gib|gb|g)(?![a-z0-9])")
_FORMS = {"pcie": "pcie", "nvl": "nvl", "oam": "oam", "nvlink": "sxm", "hgx": "sxm", "module": "sxm"}
_FORMS |= {f"sxm{generation}": "sxm" for generation in ("", 2, 3, 4, 5, 6)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One card as its maker states it; None where the maker states nothing or the card cannot do it.

    `memory_gb` is nominal and of the whole card; `usable_gib` is what one device of it leaves to programs. They belong to
    the same device except on the MI250 and MI250X, whose package shows as two (`devices`).
    """

    name: str
    family: str  # the word that takes all variants: A100, H100, RTX 3080
    aliases: tuple[str, ...]
    vendor: str
    architecture: str
    form_factor: str
    devices: int
    memory_gb: float
    usable_gib: float
    memory_type: str
    bandwidth_gb_per_s: float
    fp32_tflops: float
    tf32_tflops: float | None
    bf16_tflops: float | None
    fp16_tflops: float | None
    fp8_tflops: float | None
    int8_tops: float | None
    fp4_tflops: float | None
    measured_bf16_tflops: float | None
    tdp_watts: float
    nvlink_gb_per_s: float  # both directions together; 0 is none
    pcie_gen: int
    pcie_gb_per_s_per_direction: float
    release_year: int
    compute_capability: str
    price_usd: float | None
    price_low_usd: float | None
    price_high_usd: float | None
    price_basis: str
    note: str

    def __hash__(self) -> int:
        return hash(self.name)  # equal cards have one name; cards are keys thousands of times per plan


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMatch:
    """The card a market name means. `form_factor` is "unknown" where the name fits several variants: `gpu` is the slowest."""

    gpu: Gpu
    form_factor: str


def find_gpu(
    name: str, *, memory_gb: float | None = None, memory_mib: float | None = None, form_factor: str | None = None
) -> GpuMatch:
    """The card that a market's spelling means, given the memory it states (nominal GB or reported MiB) and its form.

    Raises:
        UnknownGpu: no card has this name together with this memory and form, or the name alone leaves the memory open.
    """
    asked = _Asked.read(name, memory_gb=memory_gb, memory_mib=memory_mib, form_factor=form_factor)
    for table, key in ((_BY_SPELLING, name.strip().casefold()), (_BY_FULL_KEY, _full_key(name))):
        exact = table.get(key)
        if exact is not None and asked.fits_arguments(exact):
            return GpuMatch(gpu=exact, form_factor=exact.form_factor)
    candidates = asked.nearest_memory(gpu for gpu in _BY_CORE.get(asked.core, ()) if asked.fits(gpu))
    if not candidates:
        raise _unknown(name, "no GPU of the table has this name with this memory and form factor")
    if len({gpu.memory_gb for gpu in candidates}) > 1:
        raise _unknown(name, "the name fits cards of different memory", [gpu.name for gpu in candidates])
    slowest = min(candidates, key=lambda gpu: (gpu.bandwidth_gb_per_s, gpu.bf16_tflops or gpu.fp16_tflops or 0.0))
    return GpuMatch(gpu=slowest, form_factor=slowest.form_factor if len(candidates) == 1 else UNKNOWN_FORM_FACTOR)


def select_gpus(query: str) -> tuple[Gpu, ...]:
    """The cards that a user's filter takes: a full name exactly one, a family ("A100", "A100 80GB") all that fit.

    Raises:
        UnknownGpu: nothing fits; `allowed` holds the nearest names.
    """
    wanted = _full_key(query)
    if (one := _BY_NAME_KEY.get(wanted)) is not None:
        return (one,)
    asked = _Asked.read(query)
    family = tuple(gpu for gpu in GPUS.values() if _core(gpu.family) == asked.core and asked.fits(gpu))
    if family:
        return family
    if (alias := _BY_FULL_KEY.get(wanted) or _BY_SPELLING.get(query.strip().casefold())) is not None:
        return (alias,)
    found = tuple(gpu for gpu in _BY_CORE.get(asked.core, ()) if asked.fits(gpu))
    if not found:
        raise _unknown(query, "no GPU of the table has this name")
    return found


def nominal_memory_gb(gpu: Gpu, memory_mib: float) -> float:
    """The card's nominal GB when the reported MiB mean it; for a fraction of the card, decimal GB to a whole number."""
    if _distance(gpu, memory_mib=memory_mib) <= MEMORY_TOLERANCE_FRACTION:
        return gpu.memory_gb
    return float(round(gb_from_mib(memory_mib)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A spelling taken apart: what is left of the name, the memories and the forms it and the caller state."""

    core: str
    name_gb: tuple[float, ...]
    name_forms: frozenset[str]
    memory_gb: float | None
    memory_mib: float | None
    form: str | None

    @classmethod
    def read(
        cls, name: str, *, memory_gb: float | None = None, memory_mib: float | None = None, form_factor: str | None = None
    ) -> "_Asked":
        words = _words(name)
        form = (form_factor or "").strip().casefold()
        return cls(
            core=_core(name),
            name_gb=tuple(float(size) for size in _MEMORY.findall(_spaced(name))),
            name_forms=frozenset(_FORMS[word] for word in words if word in _FORMS),
            memory_gb=memory_gb,
            memory_mib=memory_mib,
            form=None if form in ("", UNKNOWN_FORM_FACTOR) else _FORMS.get(form, form),
        )

    def distance(self, gpu: Gpu) -> float:
        """How far the caller's memory is from the card's, as a share of it; 0 when none is stated."""
        return _distance(gpu, memory_gb=self.memory_gb, memory_mib=self.memory_mib)

    def fits_arguments(self, gpu: Gpu) -> bool:
        return self.distance(gpu) <= MEMORY_TOLERANCE_FRACTION and self.form in (None, _form_class(gpu))

    def fits(self, gpu: Gpu) -> bool:
        in_name = all(_distance(gpu, memory_gb=size) <= MEMORY_TOLERANCE_FRACTION for size in self.name_gb)
        return in_name and self.name_forms <= {_form_class(gpu)} and self.fits_arguments(gpu)

    def nearest_memory(self, candidates: Iterable[Gpu]) -> list[Gpu]:
        """Of several sizes within the tolerance, the cards of the nearest one."""
        found = list(candidates)
        least = min((self.distance(gpu) for gpu in found), default=0.0)
        return [gpu for gpu in found if self.distance(gpu) == least]


def _distance(gpu: Gpu, *, memory_gb: float | None = None, memory_mib: float | None = None) -> float:
    """Relative distance from the nominal memory. MiB are read as GiB and as decimal GB: markets name cards either way."""
    stated = [] if memory_gb is None else [[memory_gb]]
    if memory_mib is not None:
        stated.append([memory_mib / 1024, gb_from_mib(memory_mib)])
    return max((min(abs(size - gpu.memory_gb) for size in sizes) / gpu.memory_gb for sizes in stated), default=0.0)


def _form_class(gpu: Gpu) -> str:
    form = gpu.form_factor.casefold()
    is_sxm = form.startswith("sxm") or "module" in form
    return "oam" if form.startswith("oam") else "sxm" if is_sxm else form


def _spaced(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", " ", _COUNT.sub("", name).casefold())


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s.]+", _spaced(name)) if word and word not in _NOT_MARKET_WORDS]


def _full_key(name: str) -> str:
    """Case, blanks, hyphens and makers' words do not matter; memory and form stay in it."""
    return _GLUED_MAKER.sub("", "".join(_words(name)))


def _core(name: str) -> str:
    """The full key without memory and form factor."""
    return _full_key(" ".join(word for word in _words(_MEMORY.sub(" ", _spaced(name))) if word not in _FORMS))


def _unknown(name: str, message: str, allowed: list[str] | None = None) -> UnknownGpu:
    if allowed is None:
        hits = process.extract(_full_key(name), _SPELLINGS, scorer=fuzz.WRatio, limit=12)
        allowed = list(dict.fromkeys(_BY_FULL_KEY[key].name for key, _, _ in hits))[:5]
    error = UnknownGpu(message, allowed=allowed)
    error.raw_name = re.sub(r"[^A-Za-z0-9 ._+/()-]", "?", name)[:60]
    return error


def _read_table() -> Mapping[str, Gpu]:
    text = resources.files("providers").joinpath("gpus.csv").read_text(encoding="utf-8")
    return MappingProxyType({row["name"]: _gpu(row) for row in csv.DictReader(text.splitlines())})


def _gpu(row: Mapping[str, str]) -> Gpu:
    def value(column: str, kind: object) -> object:
        text = row[column]
        if column == "aliases":
            return tuple(filter(None, text.split(";")))
        if kind in (int, float):
            return int(text) if kind is int else float(text)
        return text if kind is str else (float(text) if text else None)

    return Gpu(**{field.name: value(field.name, field.type) for field in fields(Gpu)})  # type: ignore[arg-type]  # checked by tests


def _spelling_tables() -> tuple[dict[str, Gpu], dict[str, Gpu], dict[str, list[Gpu]]]:
    """By exact spelling; by full key, without "nvidia-..." accelerator names (a market's own, true only as written); by core."""
    spelling: dict[str, Gpu] = {}
    full: dict[str, Gpu] = {}
    core: dict[str, list[Gpu]] = {}
    for gpu in GPUS.values():
        for text in (gpu.name, *gpu.aliases):
            spelling[text.casefold()] = gpu
            if not text.startswith("nvidia-"):
                full[_full_key(text)] = gpu
        for key in {_core(text) for text in (gpu.name, gpu.family, *gpu.aliases)}:
            core.setdefault(key, []).append(gpu)
    return spelling, full, core


GPUS: Mapping[str, Gpu] = _read_table()
_BY_NAME_KEY = {_full_key(name): gpu for name, gpu in GPUS.items()}
_BY_SPELLING, _BY_FULL_KEY, _BY_CORE = _spelling_tables()
_SPELLINGS = tuple(_BY_FULL_KEY)
