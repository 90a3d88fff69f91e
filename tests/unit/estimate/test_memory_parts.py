"""Parts of the memory model in training and at the peak, against cases worked by hand."""

from dataclasses import replace

import pytest

from providers.units import GIB
from service.domain.workload import Framework, LossKind, Strategy
from service.estimate.activations import activation_bytes, kept_per_token_and_layer
from service.estimate.adapters import adapter_params, parse_targets
from service.estimate.inference_memory import inference_peak
from service.estimate.logits import logits_bytes, logits_bytes_per_entry
from service.estimate.memory_constants import MEMORY
from service.estimate.memory_setup import Adapters, AttentionKernel, MemorySetup, Reading, Recompute, Regime
from service.estimate.models import MODELS
from service.estimate.optimizer import bytes_per_param, trained_bytes
from service.estimate.parallel import Parallelism
from service.estimate.sharding import gathered_bytes
from service.estimate.vram import memory_need

LLAMA_3_8B = MODELS["Llama-3-8B"]
LLAMA_2_7B = MODELS["Llama-2-7B"]


def full(**changes) -> MemorySetup:
    return MemorySetup(**{"shape": LLAMA_2_7B, "framework": Framework.LITGPT, "sequence": 512} | changes)


@pytest.mark.parametrize(
    ("setup", "total"),
    [
        (full(), 2 + 4 + 2),  # pure 16 bit: gradient, two moments, copied updates
        (full(regime=Regime.FP32), 4 + 8),
        (full(framework=Framework.DEEPSPEED, regime=Regime.MIXED), 2 + 8 + 4 + 4),
        (full(framework=Framework.MEGATRON, regime=Regime.MIXED), 4 + 8 + 4),
        (full(framework=Framework.TORCHTITAN, regime=Regime.MIXED), 4 + 8 + 2),
        (full(framework=Framework.TORCHTUNE, optimizer="sgd"), 2),
        (full(framework=Framework.TORCHTUNE, optimizer="lion"), 2 + 2),
        (full(framework=Framework.TORCHTUNE, optimizer="adafactor"), 2 + 0.02),
    ],
)
def test_bytes_per_trained_parameter(setup, total):
    each = bytes_per_param(setup)
    assert each.gradient + each.states + each.master + each.temporary == pytest.approx(total)


@pytest.mark.parametrize(
    ("strategy", "gradients", "states"),
    [(Strategy.DDP, 1, 1), (Strategy.ZERO1, 1, 8), (Strategy.ZERO2, 8, 8), (Strategy.FSDP, 8, 8)],
)
def test_sharding_divides_what_it_says(strategy, gradients, states):
    one = trained_bytes(full())
    eight = trained_bytes(full(parallel=Parallelism(strategy=strategy, data=8)))
    assert one.gradients / eight.gradients == pytest.approx(gradients)
    assert one.optimizer / eight.optimizer == pytest.approx(states)


def test_an_optimizer_in_the_backward_pass_keeps_one_layers_gradient():
    # largest of one layer (202 million) and the embedding (131 million), 2 bytes each
    assert trained_bytes(full(optimizer_in_backward=True)).gradients == pytest.approx(2 * LLAMA_2_7B.layer_params)


def test_rank_8_on_queries_and_values_adds_4_2_million_parameters():
    # 32 layers x 2 targets x 8 x (4096 + 4096) = 4,194,304
    assert adapter_params(LLAMA_2_7B, Adapters(rank=8, targets=parse_targets("q,v"))) == 4_194_304


def test_all_linear_layers_with_grouped_heads():
    # Llama-3-8B, rank 16: per layer 16 x (8192 + 2 x 5120 + 8192 + 3 x 18432) = 1,310,720; x 32
    assert adapter_params(LLAMA_3_8B, Adapters(rank=16, targets=parse_targets("all"))) == 32 * 1_310_720


def test_targets_are_read_from_their_spellings():
    assert parse_targets("all+head") == {"q", "k", "v", "o", "mlp", "head"}
    assert parse_targets(" Q, v ") == {"q", "v"}


def test_litgpt_lora_grows_by_186_kb_a_token_and_layer():
    # measured slope between micro batches, 45 hidden sizes; the logits' share is 8 x 32000 / 32 layers = 8 kB of it
    setup = full(adapters=Adapters(rank=8, targets=frozenset({"q", "v"})), attention=AttentionKernel.SDPA)
    slope = kept_per_token_and_layer(setup) + logits_bytes(setup, tokens=1) / 32
    assert slope == pytest.approx(186_000, rel=0.01)


def test_compiled_full_tuning_keeps_38_hidden_sizes_of_llama_3_2_3b():
    setup = MemorySetup(
        shape=MODELS["Llama-3.2-3B"], framework=Framework.TORCHTUNE, compiled=True, attention=AttentionKernel.SDPA
    )
    assert kept_per_token_and_layer(setup) / 3072 == pytest.approx(38, rel=0.12)


def test_eager_attention_stores_its_scores():
    flash, eager = (kept_per_token_and_layer(full(attention=kind)) for kind in (AttentionKernel.FLASH, AttentionKernel.EAGER))
    # 32 heads x 512 scores, kept as three 16-bit copies
    assert eager - flash == 3 * 2 * 32 * 512


def test_soft_capped_scores_are_stored_even_by_sdpa():
    gemma = full(shape=MODELS["Gemma-2-2B"], attention=AttentionKernel.SDPA)
    flash = full(shape=MODELS["Gemma-2-2B"], attention=AttentionKernel.FLASH)
    assert kept_per_token_and_layer(gemma) - kept_per_token_and_layer(flash) > 3 * 2 * 8 * 511


def test_checkpointing_keeps_each_layers_input_and_one_layer():
    setup = full(recompute=Recompute.FULL)
    # 32 layers x 2 bytes x 4096 x 512 tokens + 1.6 layers
    assert activation_bytes(setup) == pytest.approx(32 * 2 * 4096 * 512 + 1.6 * 512 * kept_per_token_and_layer(setup))


def test_no_checkpointing_keeps_every_layer():
    setup = full()
    assert activation_bytes(setup) == pytest.approx(32 * 512 * kept_per_token_and_layer(setup))


@pytest.mark.parametrize(
    ("framework", "loss", "older", "bytes_per_entry"),
    [
        (Framework.HF, LossKind.PLAIN, False, 12),
        (Framework.HF, LossKind.PLAIN, True, 14),
        (Framework.HF, LossKind.FUSED, False, 0.25),
        (Framework.TORCHTUNE, LossKind.CHUNKED, False, 1),
        (Framework.MEGATRON, LossKind.PLAIN, False, 10),
    ],
)
def test_the_loss_decides_the_logits(framework, loss, older, bytes_per_entry):
    setup = full(framework=framework, loss=loss, older_library=older)
    assert logits_bytes_per_entry(setup) == bytes_per_entry
    assert logits_bytes(setup, tokens=512) == bytes_per_entry * 512 * 32_000


def test_a_small_model_with_a_large_vocabulary_is_all_logits():
    # Qwen-1.8B LoRA at 8192 tokens: 3.4 GiB of weights and 14 x 8192 x 151936 = 16.2 GiB of logits
    setup = MemorySetup(
        shape=MODELS["Qwen-1.8B"],
        framework=Framework.HF,
        older_library=True,
        sequence=8192,
        adapters=Adapters(rank=8, targets=frozenset({"qkv"})),
        recompute=Recompute.FULL,
        reading=Reading.ALLOCATED,
    )
    sizes = {part.name: part.gib for part in memory_need(setup).parts}
    assert sizes["weights"] == pytest.approx(3.42, abs=0.01)
    assert sizes["logits"] == pytest.approx(16.23, abs=0.01)


def test_an_older_library_builds_logits_for_the_whole_prompt():
    prompt = {"shape": MODELS["Llama-2-7B"], "framework": Framework.HF, "is_training": False, "sequence": 8192, "prompt": 8000}
    prompt |= {"reading": Reading.ALLOCATED}
    older = inference_peak(MemorySetup(**prompt, older_library=True))
    newer = inference_peak(MemorySetup(**prompt))
    assert older["logits"] == pytest.approx((6 * 32_000 + 2 * 4096) * 8000)
    assert newer.get("logits", 0.0) <= 6 * 32_000


def test_only_a_reading_of_the_device_has_a_context():
    def parts(reading: Reading) -> set[str]:
        return {part.name for part in memory_need(full(reading=reading)).parts}

    assert "context" in parts(Reading.DEVICE)
    assert {"context", "fragmentation"} & parts(Reading.ALLOCATED) == set()
    assert "context" not in parts(Reading.RESERVED)


def test_every_framework_has_facts_that_the_file_knows():
    assert set(MEMORY.frameworks) == set(Framework)
    assert MEMORY.frameworks[Framework.AXOLOTL].adapter_bytes == MEMORY.frameworks[Framework.HF].adapter_bytes == 4
    assert not MEMORY.frameworks[Framework.LLAMA_FACTORY].states_16bit


def test_autocast_keeps_fp32_scores_and_norms():
    def kept(regime: Regime) -> float:
        bert = MODELS["BERT-large"]
        return kept_per_token_and_layer(full(shape=bert, regime=regime, attention=AttentionKernel.EAGER, framework=Framework.HF))

    # 16 heads x 512 scores x (11 - 6) bytes, and 2 norms x 1024 x (4 - 2)
    assert kept(Regime.AUTOCAST) - kept(Regime.PURE_16) == 16 * 512 * 5 + 2 * 1024 * 2


def test_eight_bit_states_of_the_embedding_stay_in_fp32():
    # 2.06 bytes for 6.738e9 parameters, and 8 - 2.06 more for the 32000 x 4096 of the embedding
    states = trained_bytes(full(optimizer="adamw_8bit")).optimizer
    assert states == pytest.approx(2.06 * 6.738e9 + (8 - 2.06) * 32_000 * 4096)


def test_hand_written_kernels_keep_less_and_their_checkpoints_live_on_the_host():
    def peak(framework: Framework, sequence: int) -> float:
        setup = MemorySetup(
            shape=LLAMA_3_8B,
            framework=framework,
            quantization="nf4",
            adapters=Adapters(rank=32, targets=parse_targets("all")),
            sequence=sequence,
            recompute=Recompute.FULL,
            loss=LossKind.FUSED,
            reading=Reading.ALLOCATED,
        )
        return memory_need(setup).point_gib

    # with the inputs of all 32 layers on the host, no more than a layer and its two inputs grow with the sequence
    slope = (peak(Framework.UNSLOTH, 32_000) - peak(Framework.UNSLOTH, 16_000)) * GIB / 16_000
    assert slope < 32 * 2 * 4096  # bytes a token: less than the kept inputs alone would take
    assert peak(Framework.HF, 32_000) > 2 * peak(Framework.UNSLOTH, 32_000)


def test_a_serving_engine_takes_its_share_of_a_known_card():
    known = MemorySetup(shape=LLAMA_3_8B, framework=Framework.VLLM, is_training=False, sequence=1024, card_gib=79.14)
    assert memory_need(known).point_gib == pytest.approx(0.9 * 79.14)
    assert memory_need(replace(known, card_gib=None)).point_gib < 20


def test_changing_lengths_leave_cached_blocks_up_to_the_cards_end():
    varying = full(variable_length=True, reading=Reading.RESERVED, sequence=1304)
    live = activation_bytes(varying) + logits_bytes(varying, tokens=1304)
    roomy = memory_need(replace(varying, card_gib=1000.0))
    tight = memory_need(replace(varying, card_gib=1.0))
    cached = {need: next(part.gib for part in need.parts if part.name == "fragmentation") * GIB for need in (roomy, tight)}
    assert cached[roomy] == pytest.approx(1.4 * live)
    assert cached[tight] == pytest.approx(0.15 * live)


def test_fully_sharded_training_gathers_two_layers_and_both_ends():
    eight = Parallelism(strategy=Strategy.FSDP, data=8)
    # Llama-2-7B: two layers of 202.4e6 x 2 bytes, embedding and head of 131.1e6 x 2 bytes each, and one layer's gradient
    layer, end = LLAMA_2_7B.layer_params, 32_000 * 4096
    frozen = full(parallel=eight, adapters=Adapters(rank=8, targets=frozenset({"q"})))
    assert gathered_bytes(frozen, weight_bytes=0) == 2 * 2 * layer + 2 * 2 * end
    assert gathered_bytes(full(parallel=eight), weight_bytes=0) == 2 * 2 * layer + 2 * 2 * end + 2 * layer


def test_replicas_hold_a_bucket_copy_and_stage_two_its_buckets():
    def gathered(strategy: Strategy) -> float:
        return gathered_bytes(full(parallel=Parallelism(strategy=strategy, data=8)), weight_bytes=0)

    assert gathered(Strategy.DDP) == 2 * LLAMA_2_7B.params_total
    assert gathered(Strategy.ZERO2) == pytest.approx(2 * 5e8 * 2, rel=0.01)
    assert gathered_bytes(full(), weight_bytes=0) == 0
