"""The table of known models, and a model from a name, a size or a Hugging Face configuration.

Sizes come from the models' published configurations (models.csv beside this file); names are matched with case and
separators forgiven, and never guessed between two.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from rapidfuzz import fuzz, process

from providers.errors import InvalidInput, UnknownModel
from service.domain.estimate import Assumption
from service.domain.workload import ParamsSpec
from service.estimate.model_config import model_from_config
from service.estimate.model_shape import ModelShape
from service.estimate.model_sizes import model_from_params

__all__ = ["MODELS", "ModelShape", "find_model", "model_from_config", "model_from_params", "resolve_model"]

_NOISE = {"instruct", "chat", "hf", "base", "it", "pt", "sft", "dpo", "gguf", "awq", "gptq", "bnb", "4bit", "8bit", "int4", "fp8"}
_NEAREST = 5
_TEXT = {"name", "hf_id", "family", "kind", "released", "attention", "norm"}
_REAL = {"params_total_b", "params_active_b"}
_FLAG = {"tied_embeddings", "attn_bias", "score_softcap"}


def _rows() -> list[dict[str, str]]:
    text = files("service.estimate").joinpath("models.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _shape(row: Mapping[str, str]) -> ModelShape:
    values: dict[str, Any] = {}
    for field in fields(ModelShape):
        raw = row[field.name]
        if field.name in _TEXT:
            values[field.name] = raw
        elif field.name in _REAL:
            values[field.name] = float(raw)
        else:
            values[field.name] = bool(int(raw)) if field.name in _FLAG else int(raw)
    return ModelShape(**values)


def name_key(name: str, *, without_noise: bool = False) -> str:
    """The form names are compared in: lower case, a separator only between two digits; on request without noise words.

    "Llama 3.1 8B" and "llama3.1_8b" are one key, "llama-38b" is another. Noise is dropped from what is asked only: "BERT"
    must not find BERT-base.
    """
    words = re.split(r"[\s_/.:\-()]+", name.strip().lower())
    kept = [word for word in words if word and not (without_noise and word in _NOISE)] or words
    return re.sub(r"(?<!\d)-|-(?!\d)", "", "-".join(kept))


def _names(row: Mapping[str, str]) -> list[str]:
    ids = [row["name"], row["hf_id"], *row["aliases"].split("|")]
    return [name for name in (*ids, *(part.rsplit("/", 1)[-1] for part in ids)) if name]


_ROWS = _rows()
MODELS: Mapping[str, ModelShape] = MappingProxyType({row["name"]: _shape(row) for row in _ROWS})


def _index() -> dict[str, set[str]]:
    index: dict[str, set[str]] = {}
    for row in _ROWS:
        for name in _names(row):
            index.setdefault(name_key(name), set()).add(row["name"])
    return index


_INDEX = _index()
_EXACT = {name.lower(): row["name"] for row in reversed(_ROWS) for name in (row["hf_id"], row["name"]) if name}


def find_model(name: str) -> ModelShape:
    """The model of this name: a canonical name, a Hugging Face id or an alias.

    Raises:
        UnknownModel: no model has this name, or two have; `allowed` holds the nearest (or the two).
    """
    if exact := _EXACT.get(name.strip().lower()):
        return MODELS[exact]
    found: set[str] = set()
    last = name.rsplit("/", 1)[-1]
    for key in (name_key(name), name_key(last), name_key(name, without_noise=True), name_key(last, without_noise=True)):
        found = _INDEX.get(key, set())
        if len(found) == 1:
            return MODELS[next(iter(found))]
        if found:
            raise UnknownModel("the name fits more than one model", pointer="/workload/model", allowed=sorted(found))
    raise UnknownModel("no model of the table has this name", pointer="/workload/model", allowed=nearest_models(name))


def nearest_models(name: str) -> tuple[str, ...]:
    """The known names most like this one, best first."""
    hits = process.extract(name_key(name), _INDEX.keys(), scorer=fuzz.WRatio, limit=4 * _NEAREST)
    ordered: dict[str, None] = {}
    for key, _score, _position in hits:
        ordered.update(dict.fromkeys(sorted(_INDEX[key])))
    return tuple(ordered)[:_NEAREST]


def resolve_model(model: str | ParamsSpec | dict[str, Any] | None) -> tuple[ModelShape, tuple[Assumption, ...]]:
    """The shape of whatever a workload names as its model, with what had to be assumed.

    Raises:
        UnknownModel, InvalidInput: see find_model, model_from_params and model_from_config.
    """
    match model:
        case str():
            return find_model(model), ()
        case ParamsSpec():
            return model_from_params(model.params_b)
        case dict():
            return model_from_config(model)
        case None:
            raise InvalidInput("the task needs a model", pointer="/workload/model")
