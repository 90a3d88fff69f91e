"""Rows of measured tables: foreign spellings are read, bad cells are named, nothing is skipped in silence."""

import pytest

from providers.errors import InvalidInput
from service.domain.workload import Framework, LossKind, Strategy
from service.estimate.memory_rows import class_of_row, read_memory_row
from service.estimate.memory_setup import AttentionKernel, Reading, Recompute, Regime
from service.estimate.score_memory import evaluate_memory

ROW = {
    "id": "r1", "source": "table", "model": "Llama-2-7B", "params_b": "6.738", "hidden": "4096", "layers": "32",
    "heads": "32", "kv_heads": "32", "vocab": "32000", "intermediate": "11008", "technique": "lora",
    "precision": "bf16-pure", "optimizer": "adamw", "quant": "", "lora_rank": "8", "lora_targets": "q,v",
    "micro_batch": "1", "seq_len": "1304", "input_len": "", "output_len": "", "grad_checkpointing": "0",
    "flash_attention": "sdpa", "strategy": "single", "dp": "1", "tp": "1", "pp": "1", "cp": "", "n_gpus": "1",
    "gpu": "A100-SXM4-40GB", "framework": "litgpt", "unit": "GB", "measured": "torch max allocated",
    "measured_gib": "19.837", "confidence": "A", "notes": "",
}  # fmt: skip


def setup_of(**cells):
    return read_memory_row(ROW | cells)[0]


@pytest.mark.parametrize(
    ("spelling", "framework"),
    [("hf-generate", "hf"), ("hf-trainer", "hf"), ("hf-peft", "hf"), ("hf-deepspeed", "hf"), ("litgpt-eager", "litgpt"),
     ("llama.cpp", "llama_cpp"), ("ms-swift", "ms_swift"), ("gpt-fast", "gpt_fast"), ("TensorRT-LLM", "tensorrt_llm")],
)  # fmt: skip
def test_spellings_of_frameworks_are_aliases(spelling, framework):
    assert setup_of(framework=spelling).framework is Framework(framework)


def test_an_unknown_framework_and_card_fall_back_with_a_note():
    setup, notes = read_memory_row(ROW | {"framework": "somebodys-trainer", "gpu": "Frobnicator 9000"})
    assert setup.framework is Framework.UNKNOWN
    assert len(notes) == 2


def test_the_rows_own_sizes_win_over_the_table():
    assert setup_of(layers="16").shape.layers == 16
    assert setup_of(params_b="3.4").shape.params_total_b == 3.4


def test_a_model_that_nobody_knows_is_read_from_its_sizes():
    setup, notes = read_memory_row(ROW | {"model": "Zebra-7B"})
    assert setup.shape.params_total_b == 6.738
    assert setup.shape.mlp_matrices == 3  # 3 x 4096 x 11008 comes to 6.738 billion, 2 x would be 5.3
    assert notes


@pytest.mark.parametrize(
    ("words", "reading"),
    [("torch max allocated", Reading.ALLOCATED), ("torch max reserved", Reading.RESERVED), ("nvidia-smi", Reading.DEVICE),
     ("device level, rounded", Reading.DEVICE), ("", Reading.ALLOCATED)],
)  # fmt: skip
def test_what_was_read_is_read(words, reading):
    assert setup_of(measured=words).reading is reading


@pytest.mark.parametrize(
    ("cells", "field", "value"),
    [
        ({"grad_checkpointing": "1"}, "recompute", Recompute.FULL),
        ({"grad_checkpointing": "sel"}, "recompute", Recompute.SELECTIVE),
        ({"flash_attention": "none"}, "attention", AttentionKernel.EAGER),
        ({"flash_attention": "fa2"}, "attention", AttentionKernel.FLASH),
        ({"quant": "nf4-dq", "technique": "qlora"}, "quantization", "nf4_double"),
        ({"quant": "awq-g128", "technique": "inference"}, "quantization", "awq"),
        ({"quant": "", "precision": "fp8", "technique": "inference"}, "quantization", "fp8"),
        ({"precision": "bf16-mixed", "technique": "full", "framework": "deepspeed"}, "regime", Regime.MIXED),
        ({"precision": "fp32", "technique": "full"}, "regime", Regime.FP32),
        ({"strategy": "naive-mp", "pp": "2"}, "layer_split", 2),
        ({"optimizer": "paged_adamw8bit+in_bwd"}, "optimizer_on_host", True),
        ({"optimizer": "adamw8bit+in_bwd"}, "optimizer_in_backward", True),
        ({"notes": "compile; activation offload"}, "activations_on_host", True),
        ({"notes": "eager, not compile"}, "compiled", False),
        ({"notes": "fused linear cross entropy"}, "loss", LossKind.FUSED),
    ],
)
def test_cells_become_settings(cells, field, value):
    assert getattr(setup_of(**cells), field) == value


@pytest.mark.parametrize(
    ("notes", "unit", "loss"),
    [("compile", "GiB", LossKind.CHUNKED), ("compile", "GB", LossKind.PLAIN), ("+compile", "GiB", LossKind.PLAIN),
     ("packed, plain cross entropy", "GiB", LossKind.PLAIN), ("+compile +chunked CE", "GiB", LossKind.CHUNKED)],
)  # fmt: skip
def test_torchtune_chunks_its_loss_since_it_counts_in_gib(notes, unit, loss):
    assert setup_of(framework="torchtune", notes=notes, unit=unit).loss is loss


def test_sharded_words_become_degrees():
    ways = setup_of(strategy="fsdp+tp+pp", dp="8", tp="4", pp="2").parallel
    assert (ways.strategy, ways.data, ways.tensor, ways.pipeline, ways.gpus) == (Strategy.FSDP, 8, 4, 2, 64)


@pytest.mark.parametrize(
    ("cells", "pointer"),
    [({"seq_len": "long"}, "/seq_len"), ({"micro_batch": "nan"}, "/micro_batch"), ({"params_b": "inf"}, "/params_b"),
     ({"quant": "2bit-magic"}, "/quant"), ({"model": "Zebra-7B", "vocab": ""}, "/model")],
)  # fmt: skip
def test_a_bad_cell_is_refused_with_its_column(cells, pointer):
    with pytest.raises(InvalidInput) as refused:
        read_memory_row(ROW | cells)
    assert refused.value.pointer == pointer


def test_a_row_that_cannot_be_estimated_is_counted_and_named():
    score = evaluate_memory([ROW, ROW | {"id": "r2", "seq_len": "long"}, ROW | {"id": "r3", "confidence": "C"}]).as_json()
    assert (score["rows"], score["scored"], score["failed"]) == (3, 1, 1)
    assert score["failures"][0]["id"] == "r2"
    assert "seq_len" in score["failures"][0]["reason"]


@pytest.mark.parametrize("measured", ["", "0", "-3", "inf", "abc"])
def test_a_row_without_a_measurement_fails(measured):
    score = evaluate_memory([ROW | {"measured_gib": measured}])
    assert (len(score.scored), len(score.failures)) == (0, 1)


def test_the_score_has_the_keys_that_scripts_rely_on():
    figures = {"median_ape", "p90_ape", "under_point", "under_safe", "table_mean_median"}
    score = evaluate_memory([ROW]).as_json()
    assert {"rows", "scored", "failed", "failures", "classes"} | figures <= score.keys()
    assert set(score["classes"]) == {"full", "lora", "qlora", "inference_16bit", "inference_8bit", "inference_4bit"}
    for one in (score, *score["classes"].values()):
        assert {"rows", "scored", "failed", "failures"} | figures <= one.keys()
        assert [type(one[key]) for key in ("rows", "scored", "failed", "failures")] == [int, int, int, list]
    assert score["classes"]["full"]["median_ape"] is None


def test_rows_and_failures_are_counted_in_the_class_that_a_row_says():
    rows = [ROW, ROW | {"id": "bad", "seq_len": "long"}, ROW | {"id": "c", "confidence": "C"}, ROW | {"technique": "full"}]
    classes = evaluate_memory(rows).as_json()["classes"]
    assert [classes["lora"][key] for key in ("rows", "scored", "failed")] == [3, 1, 1]
    assert classes["lora"]["failures"][0]["id"] == "bad"
    assert [classes["full"][key] for key in ("rows", "scored", "failed")] == [1, 1, 0]
    assert [classes["qlora"][key] for key in ("rows", "scored", "failed")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ({"technique": "inference"}, "inference_16bit"),
        ({"technique": "inference", "precision": "8bit"}, "inference_8bit"),
        ({"technique": "inference", "quant": "gptq4"}, "inference_4bit"),
        ({"technique": "qlora", "quant": "nf4"}, "qlora"),
        ({"technique": "adapter_v2", "quant": "nf4"}, "lora"),
        ({"technique": "pretrain"}, "full"),
    ],
)
def test_the_class_of_a_row_follows_from_its_cells(cells, kind):
    assert class_of_row(ROW | cells) == kind


def test_errors_and_shares_are_percent():
    # the estimate is within a percent of 19.837, so it is far under twice that and far over half of it
    low, high = (evaluate_memory([ROW | {"measured_gib": gib}]).as_json() for gib in ("39.674", "9.9185"))
    assert low["median_ape"] == pytest.approx(50, abs=1)
    assert (low["under_point"], low["under_safe"]) == (100.0, 100.0)
    assert high["median_ape"] == pytest.approx(100, abs=2)
    assert (high["under_point"], high["under_safe"]) == (0.0, 0.0)


def test_no_rows_have_no_figures():
    score = evaluate_memory([]).as_json()
    assert (score["rows"], score["median_ape"]) == (0, None)


@pytest.mark.parametrize("by", ["class", "table", "framework"])
def test_groups_are_by_what_was_asked(by):
    names = {"class": "lora", "table": "table", "framework": "litgpt"}
    assert set(evaluate_memory([ROW], by=by).groups) == {names[by]}


def test_an_unknown_grouping_is_refused():
    with pytest.raises(InvalidInput):
        evaluate_memory([ROW], by="moon")
