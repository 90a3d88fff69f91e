"""The command line as a person uses it: real processes, a fresh data folder, providers on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.e2e.fake_providers import serve_fake_providers

PROJECT = Path(__file__).resolve().parents[2]
PLAN = (
    "plan",
    "--model",
    "llama-3.1-8b",
    "--technique",
    "qlora",
    "--tokens",
    "50M",
    "--sensitivity",
    "internal",
    "--region",
    "EU",
)


def gpuplan(*arguments, home, stdin=None, **variables):
    """Runs one command; its process."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
    settings |= {"XDG_DATA_HOME": str(home), "PYTHONPATH": str(PROJECT), "NO_COLOR": "1", **variables}
    code = "import sys; from service.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=settings,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def fakes():
    with serve_fake_providers() as running:
        yield running


@pytest.fixture(scope="module")
def filled(tmp_path_factory, fakes):
    """A data folder into which one `gpuplan refresh` has read the fake providers."""
    home = tmp_path_factory.mktemp("filled")
    variables = {
        "GPUPLAN_PROVIDERS__LAMBDA__BASE_URL": fakes.lambda_url,
        "GPUPLAN_PROVIDERS__LAMBDA__API_KEY": "a-secret-of-the-test",
        "GPUPLAN_PROVIDERS__RUNPOD__BASE_URL": fakes.runpod_url,
        "GPUPLAN_PROVIDERS__VAST__BASE_URL": fakes.vast_url,
    }
    done = gpuplan("refresh", home=home, **variables)
    return home, variables, done


def test_a_fresh_machine_gets_a_ranking_from_the_shipped_list(tmp_path):
    done = gpuplan(*PLAN, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "shipped with gpuplan" in done.stderr
    assert "dated" in done.stdout.splitlines()[0]
    assert "USD/run" in done.stdout
    assert not list(tmp_path.rglob("*.db")), "a plan alone makes no database"


def test_json_is_clean_on_stdout_and_is_the_plan(tmp_path):
    done = gpuplan(*PLAN, "--json", "--limit", "3", home=tmp_path)
    plan = json.loads(done.stdout)
    assert [option["rank"] for option in plan["options"]] == [1, 2, 3]
    assert all(
        option["country"] in {"DE", "FI", "IE", "FR", "NL", "SE", "BE", "IT", "ES", "PL", "AT", "DK", "CZ", "RO", "BG"}
        for option in plan["options"]
    )
    assert plan["request_echo"]["constraints"]["data_sensitivity"] == "internal"
    for option in plan["options"]:
        lines = sum(line["usd_per_run"] for line in option["cost"]["lines"])
        assert round(lines, 6) == option["cost"]["usd_per_run"]


def test_nothing_fits_is_exit_3_with_the_nearest_miss(tmp_path):
    done = gpuplan(*PLAN, "--max-usd-total", "0.001", home=tmp_path)
    assert done.returncode == 3
    assert "LEFT OUT" in done.stdout


def test_refresh_tells_per_provider_what_changed(filled):
    _, _, done = filled
    assert done.returncode == 0, done.stdout + done.stderr
    for provider in ("lambda", "runpod", "vast", "reference"):
        assert provider in done.stdout
    assert "a-secret-of-the-test" not in done.stdout + done.stderr


def test_a_second_refresh_changes_nothing(filled):
    home, variables, _ = filled
    done = gpuplan("refresh", "lambda", "vast", "--json", home=home, **variables)
    results = json.loads(done.stdout)
    assert [one["feed"] for one in results] == ["lambda", "vast"]
    assert all(one["new"] == one["changed"] == one["gone"] == 0 and one["unchanged"] == one["offers"] > 0 for one in results)


def test_a_failing_provider_is_exit_1_and_keeps_its_prices(filled):
    home, variables, _ = filled
    done = gpuplan(
        "refresh", "lambda", "--json", home=home, **variables | {"GPUPLAN_PROVIDERS__LAMBDA__BASE_URL": "http://127.0.0.1:9/api"}
    )
    [result] = json.loads(done.stdout)
    assert done.returncode == 1
    assert (result["outcome"], result["error"]) == ("failed", "provider-unavailable")
    assert result["offers"] > 0


def test_offers_lists_live_prices_cheapest_first(filled):
    home, variables, _ = filled
    done = gpuplan("offers", "--provider", "lambda", "--gpu", "H100", "--json", home=home, **variables)
    page = json.loads(done.stdout)
    prices = [offer["usd_per_gpu_hour"] for offer in page["offers"]]
    assert prices == sorted(prices)
    assert {offer["provider"] for offer in page["offers"]} == {"lambda"}
    assert any(offer["feed"] == "lambda" and offer["last_seen_at"] for offer in page["offers"])


def test_offers_writes_csv_with_the_asked_columns(filled):
    home, variables, _ = filled
    done = gpuplan("offers", "--provider", "lambda", "--csv", "--columns", "gpu,usd_per_hour", home=home, **variables)
    lines = done.stdout.splitlines()
    assert lines[0] == "gpu,usd_per_hour"
    assert all(float(line.rsplit(",", 1)[1].strip('"').replace(",", "")) > 0 for line in lines[1:])


def test_a_plan_over_live_prices_names_its_feed(filled):
    home, variables, _ = filled
    done = gpuplan("plan", "--model", "llama-3.1-8b", "--technique", "qlora", "--tokens", "50M", "--json", home=home, **variables)
    plan = json.loads(done.stdout)
    assert plan["options"][0]["price"]["feed"] in ("lambda", "runpod", "vast")
    assert {state["name"] for state in plan["prices"]["providers"]} >= {"lambda", "runpod", "vast", "reference"}


def test_a_request_comes_from_a_file_or_standard_input(tmp_path):
    body = {"workload": {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e6}, "limit": 1}
    done = gpuplan("plan", "--request", "-", "--json", home=tmp_path, stdin=json.dumps(body))
    assert len(json.loads(done.stdout)["options"]) == 1


def test_own_hardware_is_a_row_beside_the_cloud(tmp_path):
    pool = json.dumps({"name": "rack", "gpu": "RTX 4090", "gpus_per_node": 4, "usd_per_gpu_hour": 0.05, "mode": "owned"})
    done = gpuplan(
        "plan", "--model", "llama-3.1-8b", "--technique", "qlora", "--tokens", "50M", "--on-prem", pool, "--json", home=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert any(option["kind"] == "on_prem" and option["provider"] for option in json.loads(done.stdout)["options"])


def test_estimate_shows_the_parts_and_the_cards(tmp_path):
    done = gpuplan(
        "estimate", "--model", "llama-3.1-8b", "--technique", "qlora", "--tokens", "50M", "--gpu", "RTX 4090", home=tmp_path
    )
    assert done.returncode == 0
    assert "weights" in done.stdout
    assert "RTX 4090" in done.stdout


def test_doctor_checks_everything_and_prints_no_secret(filled):
    home, variables, _ = filled
    done = gpuplan("doctor", home=home, **variables)
    assert done.returncode == 0, done.stdout
    assert "provider lambda" in done.stdout
    assert "credentials are set" in done.stdout
    assert "a-secret-of-the-test" not in done.stdout + done.stderr


def test_openapi_prints_the_committed_document(tmp_path):
    done = gpuplan("openapi", home=tmp_path)
    assert yaml.safe_load(done.stdout) == yaml.safe_load((PROJECT / "openapi.yaml").read_text(encoding="utf-8"))


def test_help_names_every_command(tmp_path):
    done = gpuplan("--help", home=tmp_path)
    for command in ("plan", "offers", "estimate", "refresh", "serve", "worker", "doctor", "openapi", "evaluate"):
        assert command in done.stdout


def test_a_fresh_command_answers_from_what_a_fresh_server_has(tmp_path):
    done = gpuplan(*PLAN, "--json", "--limit", "1", home=tmp_path)
    assert {state["name"] for state in json.loads(done.stdout)["prices"]["providers"]} == {"reference", "colab", "kaggle"}
    off = gpuplan(*PLAN, "--json", "--limit", "1", home=tmp_path, GPUPLAN_PROVIDERS__COLAB__ENABLED="false")
    assert {state["name"] for state in json.loads(off.stdout)["prices"]["providers"]} == {"reference", "kaggle"}
