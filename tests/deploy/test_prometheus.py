"""Alerts and dashboard: promtool takes every query, the alerts fire when they should, and every series exists."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from service.metrics import Metrics

PROJECT = Path(__file__).resolve().parents[2]
RULES = PROJECT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = json.loads((PROJECT / "deploy" / "grafana" / "gpuplan.json").read_text(encoding="utf-8"))
ALERTS = {rule["alert"]: rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
SERIES = re.compile(r"\bgpuplan_[a-z_]+")


@pytest.fixture(scope="module")
def promtool():
    """promtool beside .venv, or on the path; deploy/test.sh unpacks it."""
    own = PROJECT / ".tools" / "prometheus" / "usr" / "bin" / "promtool"
    found = str(own) if own.is_file() else shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not here: deploy/test.sh unpacks Debian's prometheus where apt-get works")
    return lambda *words: subprocess.run([found, *words], capture_output=True, text=True, check=False, timeout=60)


def exposed():
    """The names of all series of a service that has done everything once."""
    text = Metrics().registry
    found = set()
    for family in text.collect():
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
        found |= {family.name + suffix for suffix in suffixes}
    return found


def test_alerts_fire_when_they_should(promtool):
    done = promtool("test", "rules", str(RULES.with_name("tests.yml")))
    assert done.returncode == 0, done.stdout + done.stderr
    tested = RULES.with_name("tests.yml").read_text()
    assert [name for name in ALERTS if name not in tested] == []


def test_the_alert_tests_can_fail(promtool, tmp_path):
    text = RULES.read_text().replace("max(gpuplan_lease_held) == 0", "max(gpuplan_lease_held) == 1")
    (tmp_path / "alerts.yml").write_text(text)
    shutil.copy(RULES.with_name("tests.yml"), tmp_path)
    assert promtool("test", "rules", str(tmp_path / "tests.yml")).returncode != 0


def test_promtool_takes_every_query_of_the_dashboard(promtool, tmp_path):
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(QUERIES)]
    path = tmp_path / "queries.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(QUERIES)} rules found" in done.stdout


@pytest.mark.parametrize("query", [*QUERIES, *ALERTS.values()])
def test_every_series_that_is_asked_for_is_exposed(query):
    assert set(SERIES.findall(query)) <= exposed(), query


def test_every_metric_is_on_the_dashboard():
    shown = {name for query in QUERIES for name in SERIES.findall(query)}
    for family in Metrics().registry.collect():
        assert any(name.startswith(family.name) for name in shown), family.name


def test_what_is_exposed_is_what_prometheus_reads():
    metrics = Metrics()
    metrics.database({"queued": 2}, is_led=True)
    families = {one.name: one for one in text_string_to_metric_families(metrics.render(None, datetime.now(UTC)).decode())}
    assert {sample.labels["status"]: sample.value for sample in families["gpuplan_jobs"].samples} == {"queued": 2, "running": 0}
    assert families["gpuplan_lease_held"].samples[0].value == 1
    metrics.database(None)
    families = {one.name: one for one in text_string_to_metric_families(metrics.render(None, datetime.now(UTC)).decode())}
    assert families["gpuplan_database_up"].samples[0].value == 0
