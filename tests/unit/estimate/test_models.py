"""Models by name, by size and by configuration: forgiving of spelling, never guessing between two."""

import pytest

from providers.errors import InvalidInput, UnknownModel
from service.domain.workload import ParamsSpec
from service.estimate import models
from service.estimate.model_sizes import params_of_shape
from service.estimate.models import MODELS, find_model, model_from_config, model_from_params, name_key, resolve_model

LLAMA_31_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Llama-3.1-8B", "Llama-3.1-8B"),
        ("llama-3.1-8b", "Llama-3.1-8B"),
        ("llama3.1-8b", "Llama-3.1-8B"),
        ("Llama 3.1 8B Instruct", "Llama-3.1-8B"),
        ("meta-llama/Llama-3.1-8B", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3-8B", "Llama-3-8B"),
        ("somebody/Qwen2.5-7B-Instruct-AWQ", "Qwen2.5-7B"),
        ("MISTRAL_7B", "Mistral-7B"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3"),
        ("phi-2", "Phi-2"),
        ("gpt2", "GPT-2"),
        ("flan-t5-xl", "T5-XL-v1.1"),
    ],
)
def test_case_and_separators_are_forgiven(spelling, name):
    assert find_model(spelling).name == name


def test_every_canonical_name_and_id_finds_its_own_model():
    for name, shape in MODELS.items():
        assert find_model(name) is shape
        assert not shape.hf_id or find_model(shape.hf_id) is shape


@pytest.mark.parametrize("wrong", ["llama-38b", "qwen-257b", "llama 3.1", "8b", "Llama-3.1-9B", "bert", "vit-16", "instruct", ""])
def test_a_name_of_no_model_is_refused_and_never_guessed(wrong):
    with pytest.raises(UnknownModel) as refused:
        find_model(wrong)
    assert refused.value.pointer == "/workload/model"


def test_a_name_that_fits_two_models_is_refused_with_both(monkeypatch):
    monkeypatch.setattr(models, "_INDEX", {name_key("twin-7b"): {"Llama-2-7B", "Llama-1-7B"}})
    with pytest.raises(UnknownModel) as refused:
        find_model("twin-7b")
    assert refused.value.allowed == ("Llama-1-7B", "Llama-2-7B")


def test_the_nearest_names_are_offered():
    with pytest.raises(UnknownModel) as refused:
        find_model("lama-3.1-8b")
    assert refused.value.allowed[0] == "Llama-3.1-8B"
    assert "lama-3.1-8b" not in str(refused.value)


def test_the_table_counts_agree_with_its_shapes():
    # OPT-350M projects its embedding to half the width; image models are not counted by these formulas
    for shape in MODELS.values():
        if shape.kind == "diffusion" or shape.name == "OPT-350M":
            continue
        assert params_of_shape(shape)[0] / 1e9 == pytest.approx(shape.params_total_b, rel=0.02), shape.name


def test_a_mixture_has_fewer_active_parameters():
    mixtral = MODELS["Mixtral-8x7B"]
    # 32 layers x 3 x 4096 x 14336 x 6 experts not taken = 33.8 billion parameters that a token does not pass
    assert mixtral.params_total_b - mixtral.params_active_b == pytest.approx(33.8, abs=0.1)


def test_a_configuration_gives_the_same_shape_as_the_table():
    shape, assumed = model_from_config(LLAMA_31_8B)
    known = MODELS["Llama-3.1-8B"]
    for field in ("hidden", "layers", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "mlp_matrices", "context"):
        assert getattr(shape, field) == getattr(known, field), field
    # 2 x 128256 x 4096 + 32 x (2 x 4096 x (4096 + 1024) + 3 x 4096 x 14336) = 8.0300 billion
    assert shape.params_total_b == pytest.approx(8.030, abs=0.001)
    assert [one.name for one in assumed] == ["params_total_b"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", None])
def test_the_configurations_dtype_decides_nothing(dtype):
    with_dtype, _ = model_from_config(LLAMA_31_8B | {"torch_dtype": dtype})
    assert with_dtype == model_from_config(LLAMA_31_8B)[0]


def test_an_explicit_head_size_wins():
    shape, _ = model_from_config(LLAMA_31_8B | {"head_dim": 256})
    assert shape.head_dim == 256


def test_heads_that_do_not_divide_the_width_are_refused_with_the_field():
    with pytest.raises(InvalidInput) as refused:
        model_from_config(LLAMA_31_8B | {"num_attention_heads": 33, "num_key_value_heads": 33})
    assert refused.value.pointer == "/workload/model/num_attention_heads"
    assert "32" in refused.value.allowed


def test_kv_heads_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(InvalidInput) as refused:
        model_from_config(LLAMA_31_8B | {"num_key_value_heads": 5})
    assert refused.value.pointer == "/workload/model/num_key_value_heads"


@pytest.mark.parametrize("nonsense", [0, -1, 1.5, "4096", True, 10**12, [1.5]])
def test_a_size_that_is_no_whole_number_is_refused(nonsense):
    with pytest.raises(InvalidInput) as refused:
        model_from_config(LLAMA_31_8B | {"hidden_size": nonsense})
    assert refused.value.pointer == "/workload/model/hidden_size"


def test_a_missing_size_that_cannot_be_assumed_is_named():
    with pytest.raises(InvalidInput) as refused:
        model_from_config({"model_type": "llama", "hidden_size": 4096})
    assert refused.value.pointer == "/workload/model/num_hidden_layers"


def test_missing_fields_are_named_with_what_was_assumed():
    config = {key: LLAMA_31_8B[key] for key in ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads")}
    shape, assumed = model_from_config(config)
    assert {one.name for one in assumed} >= {"intermediate_size", "vocab_size", "max_position_embeddings"}
    assert shape.intermediate == 14336  # 3.5 x 4096
    assert shape.kv_heads == 32


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024},
         {"hidden": 768, "intermediate": 3072, "mlp_matrices": 2, "tied_embeddings": True, "norm": "ln"}),
        ({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8, "head_dim": 256,
          "num_key_value_heads": 4, "intermediate_size": 9216, "vocab_size": 256000, "sliding_window": 4096,
          "max_position_embeddings": 8192, "attn_logit_softcapping": 50.0},
         {"sliding_layers": 13, "norms_per_layer": 4, "score_softcap": True, "tied_embeddings": True}),
        ({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
          "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "sliding_window": 131072,
          "use_sliding_window": False, "max_position_embeddings": 32768},
         {"sliding_window": 0, "sliding_layers": 0, "kv_width": 512}),
        ({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
          "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8,
          "num_experts_per_tok": 2, "max_position_embeddings": 32768},
         {"experts": 8, "experts_per_token": 2, "moe_intermediate": 14336, "mlp_width": 28672}),
        ({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
          "intermediate_size": 4096, "vocab_size": 30522, "max_position_embeddings": 512},
         {"kind": "encoder", "mlp_matrices": 2, "learned_pos": 512}),
    ],
    ids=["gpt2", "gemma2", "qwen2", "mixtral", "bert"],
)  # fmt: skip
def test_configurations_of_other_families(config, expected):
    shape, _ = model_from_config(config)
    assert {name: getattr(shape, name) for name in expected} == expected


def test_a_latent_attention_configuration_has_the_parameters_of_deepseek_v3():
    config = {
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
        "max_position_embeddings": 163840,
    }  # fmt: skip
    shape, _ = model_from_config(config)
    assert shape.attention == "mla"
    assert shape.params_total_b == pytest.approx(MODELS["DeepSeek-V3"].params_total_b, rel=0.001)
    assert shape.params_active_b == pytest.approx(MODELS["DeepSeek-V3"].params_active_b, rel=0.01)


def test_the_text_part_of_a_multimodal_configuration_is_read():
    shape, _ = model_from_config({"model_type": "llava", "text_config": LLAMA_31_8B})
    assert shape.layers == 32


@pytest.mark.parametrize("params_b", [0.1, 0.5, 1.3, 3, 7, 13, 34, 70, 180, 405, 1000])
def test_a_standard_shape_comes_to_its_size(params_b):
    shape, assumed = model_from_params(params_b)
    assert shape.params_total_b == params_b
    assert params_of_shape(shape)[0] / 1e9 == pytest.approx(params_b, rel=0.15)
    assert shape.heads % shape.kv_heads == 0
    assert assumed[0].name == "model_shape"
    assert f"hidden {shape.hidden}" in str(assumed[0].value)


@pytest.mark.parametrize("params_b", [0.0, -7.0, float("nan")])
def test_a_size_that_is_not_above_zero_is_refused(params_b):
    with pytest.raises(InvalidInput, match="above 0"):
        model_from_params(params_b)


def test_whatever_a_workload_names_is_resolved():
    assert resolve_model("llama-3.1-8b")[0].name == "Llama-3.1-8B"
    assert resolve_model(ParamsSpec(params_b=7.0))[0].params_total_b == 7.0
    assert resolve_model(LLAMA_31_8B)[0].layers == 32
    with pytest.raises(InvalidInput):
        resolve_model(None)
