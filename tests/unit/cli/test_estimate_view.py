"""The estimate in a terminal: a bar per card, the change that would fit, the rule of thumb, the settings that free most."""

from service.cli.app import run
from service.cli.estimate_view import CARD_BAR, LONGEST_BAR, bar
from service.domain.estimate import VramPart
from service.domain.estimation import GpuFit, GroupFit

QUIET = {"hours": None, "tokens_per_second": None, "requests_per_second": None, "replicas": None, "bound": None}


def a_card(*, need_gib: float, usable_gib: float, **parts: float) -> tuple[GpuFit, GroupFit]:
    group = GroupFit(
        gpu_count=1, strategy="single", fits=need_gib <= usable_gib, need_gib=need_gib, usable_gib=usable_gib,
        headroom_gib=usable_gib - need_gib, low_headroom=False, reason=None, detail="", advice=(), **QUIET,
    )  # fmt: skip
    named = tuple(VramPart(name=name, gib=gib) for name, gib in parts.items())
    return GpuFit(gpu="X", memory_gb=32, smallest_gpu_count=1, groups=(group,), shown_gpu_count=1, parts=named), group


def test_a_bar_is_in_proportion_to_the_card():
    # 30 characters stand for 30 GiB: one a GiB
    card, group = a_card(need_gib=20, usable_gib=30, weights=10, activations=5, context=1)
    assert bar(card, group) == "W" * 10 + "A" * 5 + "O" + "+" * 4 + "·" * 10 + "|"


def test_what_is_over_the_limit_stands_behind_the_stroke():
    card, group = a_card(need_gib=33, usable_gib=30, weights=31, kv_cache=1)
    assert bar(card, group) == "W" * 30 + "|" + "WK+"


def test_a_need_far_over_the_card_is_cut():
    card, group = a_card(need_gib=900, usable_gib=30, weights=800)
    assert len(bar(card, group)) == LONGEST_BAR + 1
    assert bar(card, group)[CARD_BAR] == "|"
    assert bar(card, group).endswith(">")


def test_the_command_shows_all_of_it(capsys):
    asked = ("estimate", "--model", "llama-2-13b", "--technique", "lora", "--gpu", "RTX 4090", "--gpu", "H100 SXM")
    assert run([*asked, "--gpu-counts", "1,2"]) == 0
    told = capsys.readouterr().out
    assert "1x: QLoRA" in told
    assert "WWWW" in told
    assert "Rule of thumb (2.57 bytes a parameter)" in told


def test_little_headroom_names_two_settings(capsys):
    work = ("--model", "llama-2-13b", "--technique", "lora", "--micro-batch-size", "4", "--gpu", "L4", "--gpu-counts", "8")
    assert run(["estimate", *work]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("! 8x L4"))
    assert line.count("frees") == 2
