"""A model's shape from the content of its Hugging Face config.json; the configuration's own dtype decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from providers.errors import InvalidInput
from service.domain.estimate import Assumption
from service.estimate.model_shape import BILLION, ModelShape
from service.estimate.model_sizes import params_of_shape

POINTER = "/workload/model"
NESTED_CONFIGS = ("text_config", "llm_config", "language_config")  # the language part of a multimodal model
_LARGEST = 10**8
# our word: the words of the architectures (Llama and kin, GPT-2, NeoX, OPT, Falcon, BLOOM, MPT, T5, Whisper, ChatGLM)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels", "d_kv", "attention_head_dim"),
    "intermediate": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "decoder_ffn_dim"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "context": ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length", "n_ctx"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts"),
    "experts_per_token": ("num_experts_per_tok", "moe_topk", "num_experts_per_token"),
    "moe_intermediate": ("moe_intermediate_size", "expert_ffn_hidden_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts"),
    "dense_layers": ("first_k_dense_replace",),
    "kv_lora_rank": ("kv_lora_rank",),
    "q_lora_rank": ("q_lora_rank",),
    "qk_nope_dim": ("qk_nope_head_dim",),
    "qk_rope_dim": ("qk_rope_head_dim",),
    "v_head_dim": ("v_head_dim",),
    "sliding_window": ("sliding_window",),
}
_PLAIN_MLP = {"gpt2", "gpt_neox", "gptj", "gpt_neo", "gpt_bigcode", "opt", "falcon", "bloom", "mpt", "bert", "roberta", "vit",
              "whisper", "phi", "xlm-roberta", "distilbert", "stablelm_alpha", "codegen"}  # fmt: skip
_TIED = {
    "gpt2",
    "gpt_bigcode",
    "opt",
    "falcon",
    "bloom",
    "mpt",
    "bert",
    "roberta",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "whisper",
}
_LAYER_NORM = _PLAIN_MLP - {"stablelm_alpha"}
_LEARNED = {"gpt2", "opt", "bert", "roberta", "xlm-roberta", "vit", "gpt_neo", "gpt_bigcode"}
_ENCODERS = {"bert", "roberta", "xlm-roberta", "distilbert", "vit", "modernbert", "deberta", "deberta-v2", "electra"}
_PAIRS = {"t5", "mt5", "umt5", "bart", "mbart", "whisper"}
_FOUR_NORMS = {"gemma2", "gemma3", "gemma3_text"}
_PERIOD = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2}  # every n-th layer sees the whole context


def model_from_config(config: Mapping[str, Any]) -> tuple[ModelShape, tuple[Assumption, ...]]:
    """The shape that a config.json describes, with every missing field named and what was assumed for it.

    A nested text configuration (multimodal models) is used in place of the whole.

    Raises:
        InvalidInput: a size is missing that cannot be assumed, is not a whole number above 0, or contradicts another.
    """
    prefix = POINTER
    for nested in NESTED_CONFIGS:
        if isinstance(config.get(nested), Mapping):
            config, prefix = {**config[nested], "_outer_type": config.get("model_type")}, f"{POINTER}/{nested}"
    reader = _Reader(config, prefix)
    kind = "encoder" if reader.family in _ENCODERS else "encoder_decoder" if reader.family in _PAIRS else "decoder"
    shape = _read_shape(reader, kind)
    total, active = params_of_shape(shape)
    shape = replace(shape, params_total_b=total / BILLION, params_active_b=active / BILLION)
    counted = Assumption(
        name="params_total_b", value=round(shape.params_total_b, 4), unit="billion", source="counted from the configuration"
    )
    return shape, (*reader.assumed, counted)


class _Reader:
    """Reads sizes under any of their spellings and remembers what was assumed."""

    def __init__(self, config: Mapping[str, Any], prefix: str) -> None:
        self.config = config
        self.prefix = prefix
        self.family = str(config.get("model_type") or "unknown").lower()[:40]
        self.assumed: list[Assumption] = []

    def size(self, word: str, *, default: int | None = None, why: str = "", silent: bool = False, least: int = 1) -> int:
        """The whole number under any spelling of `word`; absent or null: the default, told unless `silent`."""
        spellings = _WORDS[word]
        for spelling in spellings:
            value = self.config.get(spelling)
            if value is None:
                continue
            if isinstance(value, Sequence) and not isinstance(value, str) and value:
                value = max(value, key=lambda one: one if isinstance(one, int) else -1)
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
                raise InvalidInput(f"{spelling} must be a whole number from {least}", pointer=f"{self.prefix}/{spelling}")
            return value
        if default is None:
            raise InvalidInput(
                f"the configuration lacks {spellings[0]}", pointer=f"{self.prefix}/{spellings[0]}", allowed=spellings
            )
        if not silent:
            self.assumed.append(Assumption(name=spellings[0], value=default, source=f"not in the configuration: {why}"))
        return default

    def flag(self, word: str, default: bool) -> bool:
        """A truth value; anything else than true or false counts as absent."""
        value = self.config.get(word)
        return value if isinstance(value, bool) else default


def _read_shape(reader: _Reader, kind: str) -> ModelShape:
    family = reader.family
    hidden, layers, heads = reader.size("hidden"), reader.size("layers"), reader.size("heads")
    latent = reader.size("kv_lora_rank", default=0, silent=True, least=0)
    head_dim = _head_dim(reader, hidden, heads, latent)
    kv_heads = _kv_heads(reader, heads)
    gated = family not in _PLAIN_MLP and not (family == "t5" and reader.config.get("feed_forward_proj", "relu") == "relu")
    wide = 4 * hidden if not gated else round(3.5 * hidden)
    intermediate = reader.size("intermediate", default=wide, why="a usual multiple of the hidden size")
    context = reader.size("context", default=2048, why="the shortest usual context")
    window, sliding_layers = _sliding(reader, layers)
    return ModelShape(
        name=str(reader.config.get("_name_or_path") or family)[:100],
        family=family,
        kind=kind,
        params_total_b=0.0,
        params_active_b=0.0,
        hidden=hidden,
        layers=layers,
        encoder_layers=layers if kind == "encoder_decoder" else 0,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        intermediate=intermediate,
        mlp_matrices=3 if gated else 2,
        vocab=reader.size("vocab", default=0 if family == "vit" else 32_000, why="a usual vocabulary", silent=family == "vit"),
        tied_embeddings=reader.flag("tie_word_embeddings", family in _TIED),
        context=context,
        attention="mla" if latent else "gqa",
        sliding_window=window,
        sliding_layers=sliding_layers,
        **_mixture(reader, intermediate),
        **_latent(reader),
        learned_pos=context if family in _LEARNED else 0,
        attn_bias=reader.flag("attention_bias", family in {"qwen2", "gpt2", "opt", "bloom", "bert"}),
        norm="ln" if family in _LAYER_NORM else "rms",
        norms_per_layer=4 if family in _FOUR_NORMS else 2,
        score_softcap=reader.config.get("attn_logit_softcapping") is not None,
    )


def _mixture(reader: _Reader, intermediate: int) -> dict[str, Any]:
    """Sizes of a mixture of experts; all 0 for a dense model."""
    experts = reader.size("experts", default=0, silent=True, least=0)
    return {
        "experts": experts,
        "experts_per_token": reader.size("experts_per_token", default=2 if experts else 0, silent=not experts, why="two experts"),
        "shared_experts": reader.size("shared_experts", default=0, silent=True, least=0),
        "moe_intermediate": reader.size("moe_intermediate", default=intermediate if experts else 0, silent=True, least=0),
        "dense_layers": reader.size("dense_layers", default=0, silent=True, least=0),
    }


def _latent(reader: _Reader) -> dict[str, Any]:
    """Sizes of latent attention; all 0 where keys and values are kept as they are."""
    rank = reader.size("kv_lora_rank", default=0, silent=True, least=0)
    widths = {"qk_nope_dim": 128, "qk_rope_dim": 64, "v_head_dim": 128}
    sizes = {
        word: reader.size(word, default=width if rank else 0, silent=not rank, why="as DeepSeek-V3")
        for word, width in widths.items()
    }
    return sizes | {"kv_lora_rank": rank, "q_lora_rank": reader.size("q_lora_rank", default=0, silent=True, least=0)}


def _head_dim(reader: _Reader, hidden: int, heads: int, latent: int) -> int:
    """An explicit head size wins over hidden / heads; without one the heads must divide the width."""
    if latent:
        return reader.size("qk_nope_dim", default=128, silent=True) + reader.size("qk_rope_dim", default=64, silent=True)
    stated = reader.size("head_dim", default=0, silent=True, least=0)
    if stated:
        return stated
    if hidden % heads:
        divisors = [str(n) for n in range(1, min(hidden, 256) + 1) if hidden % n == 0]
        raise InvalidInput(
            "the attention heads do not divide the hidden size",
            pointer=f"{reader.prefix}/{_spelling(reader, 'heads')}",
            allowed=divisors,
        )
    return hidden // heads


def _kv_heads(reader: _Reader, heads: int) -> int:
    """Heads of keys and values: stated, one when the configuration says multi-query, else as many as the query heads."""
    multi_query = reader.flag("multi_query", False) and not reader.flag("new_decoder_architecture", False)
    kv_heads = 1 if multi_query else reader.size("kv_heads", default=heads, silent=True)
    if heads % kv_heads:
        raise InvalidInput(
            "the key-value heads do not divide the attention heads",
            pointer=f"{reader.prefix}/{_spelling(reader, 'kv_heads')}",
            allowed=[str(n) for n in range(1, heads + 1) if heads % n == 0],
        )
    return kv_heads


def _sliding(reader: _Reader, layers: int) -> tuple[int, int]:
    """(window, layers that have it); a window that the configuration switches off is none."""
    window = reader.size("sliding_window", default=0, silent=True, least=0)
    if not window or not reader.flag("use_sliding_window", True):
        return 0, 0
    kinds = reader.config.get("layer_types")
    if isinstance(kinds, Sequence) and not isinstance(kinds, str):
        return window, sum(kind == "sliding_attention" for kind in kinds)
    period = _PERIOD.get(reader.family, 0)
    return window, layers - layers // period if period else layers


def _spelling(reader: _Reader, word: str) -> str:
    return next((spelling for spelling in _WORDS[word] if spelling in reader.config), _WORDS[word][0])
