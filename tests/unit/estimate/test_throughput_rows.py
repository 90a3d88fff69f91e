"""Rows of other people's tables as steps: spellings, defaults and refusals."""

import pytest

from providers.errors import InvalidInput
from service.estimate.infer_step import InferStep
from service.estimate.throughput_rows import read_row
from service.estimate.train_step import TrainStep

TRAIN = {
    "id": "r1",
    "source": "a-table",
    "model": "Llama-2-7B",
    "technique": "full",
    "phase": "train",
    "precision": "bf16-mixed",
    "micro_batch": "4",
    "seq_len": "2048",
    "grad_checkpointing": "1",
    "strategy": "fsdp",
    "tp": "1",
    "n_gpus": "16",
    "gpu": "A100-SXM4-80GB",
    "framework": "hf-trainer",
    "tokens_per_s_per_gpu": "3000",
    "confidence": "A",
    "notes": "",
}
DECODE = {
    **TRAIN,
    "technique": "inference",
    "phase": "decode",
    "precision": "4bit",
    "quant": "awq-g128",
    "micro_batch": "2",
    "input_len": "128",
    "output_len": "64",
    "n_gpus": "1",
    "framework": "llama.cpp",
}


def train(**changes) -> TrainStep:
    step = read_row({**TRAIN, **changes}).step
    assert isinstance(step, TrainStep)
    return step


def infer(**changes) -> InferStep:
    step = read_row({**DECODE, **changes}).step
    assert isinstance(step, InferStep)
    return step


def test_a_training_row_is_read_whole():
    step = train()
    assert (step.technique, step.precision, step.framework, step.recompute) == ("full", "bf16", "hf", "full")
    assert (step.tokens, step.accumulation, step.compiled) == (8192, 8.0, False)
    assert (step.layout.gpus, step.layout.nodes, step.layout.data, step.layout.sharding) == (16, 2, 16, "fsdp")


@pytest.mark.parametrize(
    ("spelling", "framework"),
    [
        ("litgpt-eager", "litgpt"),
        ("TensorRT-LLM", "tensorrt_llm"),
        ("llama.cpp", "llama_cpp"),
        ("nemo", "megatron"),
        ("own", "unknown"),
    ],
)
def test_frameworks_are_read_in_their_spellings(spelling, framework):
    assert train(framework=spelling).framework == framework


def test_a_hidden_framework_is_unknown():
    assert read_row(TRAIN, hide_framework=True).step.framework == "unknown"


@pytest.mark.parametrize(
    ("strategy", "degrees", "expected"),
    [
        ("fsdp+tp", {"tp": "8"}, (2, 8, 1, 1, "fsdp")),
        ("fsdp+tp+pp", {"tp": "4", "pp": "2"}, (2, 4, 2, 1, "fsdp")),
        ("fsdp+cp", {"cp": "2.0"}, (8, 1, 1, 2, "fsdp")),
        ("megatron-zero1", {"pp": "4"}, (4, 1, 4, 1, "zero1")),
        ("fsdp-zero2", {}, (16, 1, 1, 1, "zero2")),
        ("ddp", {}, (16, 1, 1, 1, "none")),
    ],
)
def test_layouts_are_read_from_words_and_degrees(strategy, degrees, expected):
    layout = train(strategy=strategy, **degrees).layout
    assert (layout.data, layout.tensor, layout.pipeline, layout.context, layout.sharding) == expected


def test_compiled_kernels_are_told_by_notes_or_framework():
    assert train(notes="+compile").compiled
    assert not train(notes="eager, no compile").compiled
    assert train(framework="llm-foundry").compiled


def test_a_decode_row_is_read_whole():
    step = infer()
    assert (step.framework, step.precision, step.quantization) == ("llama_cpp", "int4", "awq")
    assert (step.batch, step.prompt, step.answer) == (2, 128, 64)
    assert infer(notes="GEMV, total").vector_kernels
    assert infer(micro_batch="max").batch == 0


@pytest.mark.parametrize(
    ("quant", "bytes_per_weight"),
    [
        ("nf4", 0.5625),
        ("nf4-dq", 0.5159),
        ("gptq4", 0.5195),
        ("gptq8", 1.0234),
        ("int4-g32", 0.625),
        ("gguf-q4_k_m", 0.606),
        ("q", 0.5625),
    ],
)
def test_quantisations_weigh_what_their_format_says(quant, bytes_per_weight):
    assert infer(quant=quant).bytes_per_weight == pytest.approx(bytes_per_weight, abs=1e-4)


def test_a_serving_engine_keeps_an_8_bit_cache_with_8_bit_weights():
    assert infer(framework="tensorrt-llm", precision="fp8", quant="fp8").kv_bytes == 1.0
    assert infer(framework="vllm", precision="fp8", quant="fp8").kv_bytes == 2.0


def test_an_unknown_card_is_timed_as_the_most_similar_one_with_a_note():
    read = read_row({**TRAIN, "gpu": "Zephyr 9000"})
    assert any("timed as" in note for note in read.notes)
    assert read_row({**TRAIN, "gpu": "A100-SXM4-80GB-330W"}).gpu.name == "A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"phase": "dream"}, "/phase"),
        ({"micro_batch": "many"}, "/micro_batch"),
        ({"model": "nobody's model"}, "/model"),
    ],
)
def test_a_row_that_cannot_be_read_says_where(changes, pointer):
    with pytest.raises(InvalidInput) as refused:
        read_row({**TRAIN, **changes})
    assert refused.value.pointer == pointer
