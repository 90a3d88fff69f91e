"""check-gpu over fake drivers: what fits now, which technique would, what is not promised, and no GPU in one line."""

import json
from types import SimpleNamespace

import pytest

from service.cli.app import run
from service.cli.nvml import NoGpuSeen, local_cards

GIB = 2**30


class FakeError(Exception):
    pass


def driver(*cards, version="570.1", fails=None):
    """A driver with cards of (name, total GiB, free GiB); `fails` names a call that raises."""
    calls = []

    def call(name, answer):
        def made(*given):
            calls.append(name)
            if name == fails:
                raise FakeError(name)
            return answer(*given)

        return made

    return SimpleNamespace(
        NVMLError=FakeError,
        calls=calls,
        nvmlInit=call("init", lambda: None),
        nvmlShutdown=call("shutdown", lambda: None),
        nvmlSystemGetDriverVersion=call("driver", lambda: version),
        nvmlDeviceGetCount=call("count", lambda: len(cards)),
        nvmlDeviceGetHandleByIndex=call("handle", lambda index: cards[index]),
        nvmlDeviceGetName=call("name", lambda card: card[0]),
        nvmlDeviceGetMemoryInfo=call("memory", lambda card: SimpleNamespace(total=card[1] * GIB, free=card[2] * GIB)),
    )


@pytest.fixture
def machine(monkeypatch):
    """Puts a driver into this machine."""

    def put(*cards, **changes):
        made = driver(*cards, **changes)
        monkeypatch.setattr("service.cli.nvml.import_module", lambda name: made)
        return made

    return put


def check(capsys, *options):
    code = run(["check-gpu", *options])
    return code, capsys.readouterr()


def test_cards_are_told_with_free_memory_and_driver(machine, capsys):
    machine(("NVIDIA GeForce RTX 4090", 24, 20.5))
    code, said = check(capsys)
    assert code == 0
    assert "GPU 0: NVIDIA GeForce RTX 4090, 24.0 GiB, 20.5 GiB free, driver 570.1 (RTX 4090)" in said.out


def test_a_workload_that_fits_says_how_much_is_to_spare(machine, capsys):
    machine(("NVIDIA H100 80GB HBM3", 80, 79))
    code, said = check(capsys, "--model", "llama-3.1-8b", "--technique", "qlora", "--json")
    (found,) = json.loads(said.out)
    assert code == 0
    assert found["gpu"] == "H100-SXM"
    # the table's usable memory of the card is less than the driver's free 79 GiB
    assert found["asked"]["need_gib"] + found["asked"]["headroom_gib"] == pytest.approx(79, abs=0.2)
    assert found["asked"]["headroom_gib"] > 40


def test_what_does_not_fit_names_the_technique_that_would(machine, capsys):
    machine(("NVIDIA GeForce RTX 4090", 24, 23.5))
    code, said = check(capsys, "--model", "llama-3.1-8b", "--technique", "full")
    assert code == 3
    assert "full: needs" in said.out
    assert "lacks" in said.out
    assert "qlora would fit" in said.out


def test_what_is_taken_by_others_does_not_count(machine, capsys):
    machine(("NVIDIA GeForce RTX 4090", 24, 2))
    code, said = check(capsys, "--model", "llama-3.1-8b", "--technique", "qlora")
    assert code == 3
    assert "No lighter technique fits" in said.out


def test_a_small_card_is_advised_fewer_bits(machine, capsys):
    machine(("NVIDIA GeForce RTX 3060", 12, 11.5))
    _, said = check(capsys)
    assert "Under 16 GiB" in said.out
    machine(("Tesla V100-SXM2-16GB", 16, 15.5))
    assert "Under 16 GiB" not in check(capsys)[1].out


def test_of_two_cards_one_is_enough(machine, capsys):
    machine(("Tesla K80", 12, 11), ("NVIDIA H100 80GB HBM3", 80, 79))
    assert check(capsys, "--model", "llama-3.1-8b", "--technique", "lora")[0] == 0


def test_a_card_that_the_table_does_not_know_promises_nothing(machine, capsys):
    machine(("NVIDIA Mystery 9000", 96, 90))
    code, said = check(capsys, "--model", "llama-3.1-8b", "--technique", "qlora")
    assert code == 3
    assert "does not know this card" in said.out


@pytest.mark.parametrize("fails", ["init", "count", "memory"])
def test_without_a_gpu_one_line_says_so(machine, capsys, fails):
    machine(("NVIDIA H100 80GB HBM3", 80, 79), fails=fails)
    code, said = check(capsys)
    assert code == 3
    assert said.err.startswith("gpuplan: no GPU can be seen")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_driver_that_counts_none_is_no_gpu_and_is_closed_again():
    empty = driver()
    with pytest.raises(NoGpuSeen, match="counts none"):
        local_cards(empty)
    assert empty.calls[-1] == "shutdown"


def test_older_libraries_answer_bytes():
    (card,) = local_cards(driver((b"Tesla T4", 15, 14), version=b"470.1"))
    assert (card.name, card.driver) == ("Tesla T4", "470.1")


def test_no_library_is_one_line(monkeypatch, capsys):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("service.cli.nvml.import_module", missing)
    code, said = check(capsys)
    assert code == 3
    assert "nvidia-ml-py is not installed" in said.err
