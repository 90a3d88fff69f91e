"""A mistake on the command line: exit code 2, what is allowed on stderr, nothing on stdout."""

import pytest

from service.cli.app import run

PLAN = ("plan", "--model", "llama-3.1-8b", "--technique", "qlora", "--tokens", "50M")


@pytest.fixture(autouse=True)
def _fresh_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GPUPLAN_URL", raising=False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("plan", "--tokens", "50M"), "which model?"),
        (("plan", "--model", "llama-3.1-9b", "--tokens", "50M"), "Llama-3.1-8B"),
        (("plan", "--model", "llama-3.1-8b", "--tokens", "fifty"), "--tokens"),
        (("plan", "--model", "llama-3.1-8b", "--tokens", "1M", "--sensitivity", "secret"), "/constraints/data_sensitivity"),
        (("plan", "--model", "llama-3.1-8b", "--tokens", "1M", "--gpu", "H1000"), "H100"),
        (("plan", "--model", "llama-3.1-8b", "--tokens", "1M", "--region", "Narnia"), "residency"),
        (("plan", "--modle", "x"), "--modle"),
        (("offers", "--gpu", "RTX 9999"), "Did you mean"),
        (("offers", "--columns", "price"), "usd_per_hour"),
        (("estimate", "--model", "llama-3.1-8b", "--gpu-counts", "two"), "1,2,4,8"),
        (("refresh", "nobody"), "Enabled:"),
        (("refresh", "--accept"), "--accept NAME"),
        (("evaluate", "memory", "/nowhere.csv"), "cannot be read"),
        (("walk",), "walk"),
    ],
)
def test_a_mistake_is_exit_2_and_says_what_is_allowed(capsys, arguments, told):
    assert run(list(arguments)) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.out == ""


def test_a_misspelt_setting_refuses_and_names_the_nearest(capsys, monkeypatch):
    monkeypatch.setenv("GPUPLAN_HOSST", "127.0.0.1")
    assert run(list(PLAN)) == 2
    assert "GPUPLAN_HOST" in capsys.readouterr().err
