"""Other estimators on the same rows: their figures worked by hand, and the command that shows them beside ours."""

import csv
import json

import pytest

from service.cli.app import run
from service.flows import peers
from service.flows.peers import HF_VRAM_CALC, RULE_OF_THUMB, missing_peer, score_memory_peers, score_throughput_peers

GIB_OF_7B = 6.738e9 / 2**30  # 6.2753: one byte a parameter
ROW = {
    "id": "r1", "source": "a", "model": "Llama-2-7B", "technique": "full", "precision": "bf16-pure", "micro_batch": "1",
    "seq_len": "2048", "strategy": "single", "gpu": "A100-SXM4-80GB", "framework": "hf", "measured_gib": "50",
}  # fmt: skip
needs_peer = pytest.mark.skipif(missing_peer() is not None, reason="hf-vram-calc is not installed")


def point(name: str, **cells) -> float:
    score = score_memory_peers([ROW | cells], by="class")[name]
    assert score.failures == ()
    return score.scored[0][1].point


@pytest.mark.parametrize(
    ("cells", "bytes_per_parameter"),
    [
        ({}, 16.0),
        ({"strategy": "fsdp", "dp": "8"}, 2.0),  # the job's 16 bytes over 8 GPUs
        ({"strategy": "ddp", "dp": "8"}, 16.0),
        ({"technique": "lora", "lora_rank": "8"}, 18 / 7),
        ({"technique": "inference", "quant": "awq"}, 4 / 7),
    ],
)
def test_the_rule_of_thumb_is_shared_by_those_who_share_the_weights(cells, bytes_per_parameter):
    assert point(RULE_OF_THUMB, **cells) == pytest.approx(bytes_per_parameter * GIB_OF_7B)


@needs_peer
@pytest.mark.parametrize(
    ("cells", "gib"),
    [
        ({}, 2 * GIB_OF_7B * 4 * 1.3),  # weights x 4 states x 1.3, whatever the batch
        ({"strategy": "tp", "tp": "2"}, 2 * GIB_OF_7B * 4 * 1.3 / 2),
        # weights x 1.2 and 2 x 32 layers x 4096 values x 2 bytes x 2048 tokens = 1 GiB of cache
        ({"technique": "inference"}, 2 * GIB_OF_7B * 1.2 + 1.0),
        ({"technique": "inference", "quant": "gptq4"}, 0.5 * GIB_OF_7B * 1.2 + 1.0),
    ],
)
def test_hf_vram_calc_is_run_as_it_is_published(cells, gib):
    assert point(HF_VRAM_CALC, **cells) == pytest.approx(gib)


@pytest.mark.parametrize(
    ("cells", "rate"),
    [
        ({"phase": "train"}, 0.4 * 312e12 / (6 * 6.738e9)),
        ({"phase": "train", "technique": "lora"}, 0.4 * 312e12 / (4 * 6.738e9)),
        ({"phase": "prefill", "technique": "inference"}, 0.4 * 312e12 / (2 * 6.738e9)),
        ({"phase": "decode", "technique": "inference"}, 0.7 * 2039e9 / (2 * 6.738e9)),
    ],
)
def test_the_rule_of_thumb_for_rates(cells, rate):
    score = score_throughput_peers([ROW | {"tokens_per_s_per_gpu": "1000"} | cells], by="class")[RULE_OF_THUMB]
    assert score.scored[0][1].point == pytest.approx(rate, rel=1e-3)


def test_the_rule_of_thumb_names_the_rows_that_it_knows_nothing_of():
    row = ROW | {"phase": "serve", "technique": "inference", "tokens_per_s_per_gpu": "1000"}
    score = score_throughput_peers([row], by="class")[RULE_OF_THUMB]
    assert [failure.id for failure in score.failures] == ["r1"]


def table(folder, rows) -> str:
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_the_command_gives_the_same_keys_for_each_peer(tmp_path, capsys):
    assert run(["evaluate", "memory", table(tmp_path, [ROW]), "--peers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert RULE_OF_THUMB in found["peers"]
    for peer in found["peers"].values():
        assert {"rows", "scored", "failed", "failures", "median_ape", "under_safe"} <= peer.keys()
        assert peer["classes"].keys() == found["classes"].keys()


def test_a_peer_that_is_not_there_is_told_and_the_rest_is_scored(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(peers, "HF_VRAM_CALC", "no-such-distribution")
    assert run(["evaluate", "memory", table(tmp_path, [ROW]), "--peers"]) == 0
    said = capsys.readouterr()
    assert "not installed" in said.err
    assert RULE_OF_THUMB.upper() in said.out
