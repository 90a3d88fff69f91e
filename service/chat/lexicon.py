"""Lexicon: every word the grammar knows, which terminal it is and what it stands for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations
from typing import Any, Final

from providers.errors import UnknownGpu
from providers.evidence import EVIDENCE
from providers.gpus import GPUS, Gpu, select_gpus
from providers.offer import CapacityType
from service.domain.request import DataSensitivity, Regime
from service.domain.workload import Precision, Technique
from service.estimate.models import MODELS, name_key

MAX_WORDS: Final = 7  # of one name: "RTX PRO 6000 Blackwell Server Edition"
_MAKERS: Final = re.compile(r"\b(?:nvidia|geforce|tesla|amd|instinct)\b")

_PLAIN: Final[Mapping[str, str]] = {
    "CHEAPEST": "cheapest|find|plan",
    "FASTEST": "fastest|quickest",
    "COMPARE": "compare",
    "VS": "vs|versus|against",
    "BREAKEVEN": "breakeven|break even|break-even|rent or buy|rent or own",
    "HISTORY": "history|prices of",
    "EXPLAIN": "explain",
    "WHY_NOT": "why not",
    "WATCH": "watch",
    "UNWATCH": "unwatch",
    "EXCLUDED": "excluded|show excluded",
    "MORE": "more|show more",
    "WATCHES": "watches",
    "PROVIDERS": "providers",
    "HELP": "help|?",
    "FOR": "for",
    "AT": "at",
    "UNDER": "under|below|at most|up to|max|less than|<|<=|≤",
    "TOTAL": "total|in total|all in all",
    "IN": "in",
    "WITHIN": "within",
    "ON": "on|from",
    "NOT": "not|without|except",
    "OR": "or|and|,",
    "NOW": "now|available|available now",
    "TOP": "top",
    "IF_PRICES": "if prices|if prices change",
    "INFERENCE": "inference|infer|serve|serving",
    "PER_GPU_HOUR": "per gpu hour|per gpu-hour|per gpu per hour|a gpu-hour|an hour per gpu|per hour per gpu",
    "PER_HOUR": "per hour|an hour|hourly",
    "PER_MONTH": "per month|a month|monthly",
}
_TECHNIQUES: Final[Mapping[Technique, str]] = {
    Technique.FULL: "full|full fine-tune|full finetune|full fine-tuning|full finetuning",
    Technique.LORA: "lora",
    Technique.QLORA: "qlora|q-lora",
    Technique.CONTINUED_PRETRAINING: "continued pretraining|continued pre-training|cpt|pretrain|pretraining",
    Technique.DPO: "dpo",
    Technique.PPO: "ppo",
    Technique.GRPO: "grpo",
    Technique.REWARD_MODEL: "reward model|reward-model",
}
_PRECISIONS: Final[Mapping[Precision, str]] = {
    Precision.INT4: "int4|4-bit|4bit|4 bit",
    Precision.INT8: "int8|8-bit|8bit|8 bit",
    **{one: one.value for one in Precision if one not in (Precision.INT4, Precision.INT8)},
}
_CAPACITIES: Final[Mapping[CapacityType, str]] = {
    CapacityType.ON_DEMAND: "on-demand|on demand|ondemand|on_demand",
    CapacityType.SPOT: "spot|preemptible|interruptible",
    CapacityType.RESERVED: "reserved",
    CapacityType.SERVERLESS: "serverless",
    CapacityType.FREE_TIER: "free tier|free-tier|free_tier",
}
_CLASSES: Final[Mapping[DataSensitivity, str]] = {
    DataSensitivity.LOCAL_ONLY: "local-only|local only|local_only",
    **{one: one.value for one in DataSensitivity if one is not DataSensitivity.LOCAL_ONLY},
}
_PROVIDER_WORDS: Final[Mapping[str, str]] = {
    "aws": "amazon",
    "gcp": "google|google cloud",
    "azure": "microsoft azure",
    "lambda": "lambda labs|lambda cloud",
    "vast": "vast.ai|vastai",
    "digitalocean": "digital ocean",
    "oci": "oracle|oracle cloud",
    "azureml": "azure ml",
    "vertex": "vertex ai",
}
_SOLD_IN_LISTS: Final = ("digitalocean", "fluidstack", "oci", "paperspace")  # no evidence of theirs is at hand


@dataclass(frozen=True, slots=True)
class Word:
    """What a spelling is."""

    terminal: str
    value: Any


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Spellings by their key. Keywords win over cards and models of the same length."""

    keywords: Mapping[str, Word]
    gpus: Mapping[str, str]  # key -> what select_gpus takes
    models: Mapping[str, tuple[str, ...]]  # key -> names of the model table

    def suggestions(self) -> list[str]:
        """What a mistyped word may have meant, as people write it."""
        shown = [word for word, meant in self.keywords.items() if word.isascii() and len(word) > 2 and meant.terminal != "OR"]
        return [*shown, *dict.fromkeys(self.gpus.values()), *MODELS]


def word_key(text: str) -> str:
    """The form keywords are compared in."""
    return " ".join(text.lower().split())


def gpu_key(text: str) -> str:
    """The form cards are compared in: case, blanks, hyphens and makers' words do not matter."""
    return re.sub(r"[^a-z0-9.]+", "", _MAKERS.sub(" ", text.lower()))


@lru_cache(maxsize=8)
def lexicon(extra_providers: frozenset[str] = frozenset()) -> Lexicon:
    """The words, with these names of sellers beside the known ones."""
    keywords = {word: Word(terminal, word) for terminal, words in _PLAIN.items() for word in words.split("|")}
    tables: tuple[tuple[str, Mapping[Any, str]], ...] = (
        ("TECHNIQUE", _TECHNIQUES),
        ("PRECISION", _PRECISIONS),
        ("CAPACITY", _CAPACITIES),
        ("REGIME", {one: one.value.replace("_", " ") + "|" + one.value for one in Regime}),
    )
    for terminal, table in tables:
        keywords |= {word: Word(terminal, value) for value, words in table.items() for word in words.split("|")}
    for value, words in _CLASSES.items():
        for word in words.split("|"):
            keywords |= {text: Word("DATA_CLASS", value) for text in (word, f"{word} data", f"data {word}", f"with {word} data")}
    known = {provider for provider, _ in EVIDENCE.tiers} | {*_SOLD_IN_LISTS} | extra_providers
    for name in sorted(known):
        spellings = (name.lower(), *_PROVIDER_WORDS.get(name, "").split("|"))
        keywords |= {word: Word("PROVIDER", name) for word in spellings if word and word not in keywords}
    return Lexicon(keywords=keywords, gpus=_gpu_spellings(), models=_model_spellings())


@cache
def _gpu_spellings() -> Mapping[str, str]:
    """Full names and aliases mean one card; a family, with memory or form or both, all that fit."""
    found: dict[str, str] = {}
    for gpu in GPUS.values():
        for parts in _family_parts(gpu):
            spelling = " ".join(sorted(parts, key=_part_order))
            if _is_query(spelling):
                found.setdefault(gpu_key(" ".join(parts)), spelling)
    for gpu in GPUS.values():
        for text in (gpu.name, *gpu.aliases):
            if not text.startswith("nvidia-"):
                found.setdefault(gpu_key(text), gpu.name)
    return found | {gpu_key(gpu.name): gpu.name for gpu in GPUS.values() if gpu.name != gpu.family}


def _family_parts(gpu: Gpu) -> list[tuple[str, ...]]:
    form = re.sub(r"\d+$", "", gpu.form_factor.split()[0])
    optional = [f"{gpu.memory_gb:g}GB", form]
    chosen = [(), (optional[0],), (optional[1],), tuple(optional)]
    return [(gpu.family, *order) for part in chosen for order in permutations(part)]


@cache
def _is_query(spelling: str) -> bool:
    """Whether the table takes it: a family whose name ends in digits does not take every part."""
    try:
        return bool(select_gpus(spelling))
    except UnknownGpu:
        return False


def _part_order(part: str) -> int:
    return 1 if re.fullmatch(r"[\d.]+GB", part) else 2 if part in ("SXM", "PCIe", "NVL", "OAM") else 0


@cache
def _model_spellings() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for name, shape in MODELS.items():
        for text in filter(None, (name, shape.hf_id, shape.hf_id.rsplit("/", 1)[-1])):
            found.setdefault(name_key(text), set()).add(name)
    return {key: tuple(sorted(names)) for key, names in found.items()}
