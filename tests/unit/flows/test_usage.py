"""The use of a pool as a Prometheus server tells it, worked by hand; every answer that is none keeps the last value."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from providers.errors import InvalidInput, ProviderError
from service.flows.usage import NotMeasured, keep_use, list_uses, measure, uses_of_rows
from service.usage_poller import UsagePoller
from service.usage_settings import PrometheusSettings

NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)
SET = PrometheusSettings(
    url="http://prometheus:9090/", token="secret", window_hours=24, allocated_query='a{pool="$pool"}[$window]', active_query="b",
    gpus_query="c",
)  # fmt: skip


def vector(*values):
    return {"resultType": "vector", "result": [{"metric": {}, "value": [1, value]} for value in values]}


def server(answers, seen=None):
    """A client whose server gives these answers by the first letter of the query."""

    def answer(request):
        if seen is not None:
            seen.append(request)
        found = answers[request.url.params["query"][0]]
        return found if isinstance(found, httpx.Response) else httpx.Response(200, json={"status": "success", "data": found})

    return httpx.Client(transport=httpx.MockTransport(answer))


def test_three_queries_give_a_measurement_with_its_window():
    seen = []
    use = measure(server({"a": vector("0.55"), "b": vector("0.2"), "c": vector("8")}, seen), SET, "dc1", now=NOW)
    assert (use.allocated_fraction, use.active_fraction, use.gpus) == (0.55, 0.2, 8)
    assert (use.window_start, use.window_end, use.measured_at) == (NOW - timedelta(days=1), NOW, NOW)
    assert [request.url.params["query"] for request in seen] == ['a{pool="dc1"}[24h]', "b", "c"]
    assert seen[0].url.path == "/api/v1/query"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert float(seen[0].url.params["time"]) == NOW.timestamp()


def test_an_exporter_that_names_no_pods_says_nothing_of_what_is_held():
    use = measure(server({"a": vector("0"), "b": vector("0.2"), "c": vector()}), SET, "dc1", now=NOW)
    assert (use.allocated_fraction, use.active_fraction, use.gpus) == (None, 0.2, None)


def test_a_scalar_is_a_number_and_nothing_is_not_zero():
    answers = {"a": {"resultType": "scalar", "result": [1, "0.5"]}, "b": vector("NaN"), "c": vector()}
    use = measure(server(answers), SET, "dc1", now=NOW)
    assert (use.allocated_fraction, use.active_fraction, use.gpus) == (0.5, None, None)


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"a": vector(), "b": vector(), "c": vector()}, NotMeasured),
        ({"a": vector("0.5", "0.6"), "b": vector(), "c": vector()}, ProviderError),
        ({"a": vector("1.2"), "b": vector(), "c": vector()}, ProviderError),
        ({"a": {"resultType": "vector", "result": [{}]}, "b": vector(), "c": vector()}, ProviderError),
        ({"a": httpx.Response(200, json=[]), "b": vector(), "c": vector()}, ProviderError),
        ({"a": httpx.Response(401), "b": vector(), "c": vector()}, ProviderError),
        ({"a": httpx.Response(400, json={"status": "error"}), "b": vector(), "c": vector()}, ProviderError),
    ],
)
def test_what_is_no_measurement_is_an_error(answers, error):
    with pytest.raises(error) as refused:
        measure(server(answers), SET, "dc1", now=NOW)
    assert "secret" not in str(refused.value)


def test_without_a_server_there_is_nothing_to_measure_with():
    with pytest.raises(NotMeasured, match="GPUPLAN_PROMETHEUS__URL"):
        measure(server({}), PrometheusSettings(), "dc1", now=NOW)


@pytest.mark.parametrize("change", [{"url": "ftp://x"}, {"allocated_query": "a[$span]"}, {"window_hours": 0}])
def test_settings_that_cannot_be_are_refused(change):
    with pytest.raises(ValueError, match=r"http|window|greater"):
        PrometheusSettings(**change)


ROW = {"pool": "dc1", "window_start": "2026-09-01T00:00Z", "window_end": "2026-09-02T00:00Z", "allocated_fraction": "0.55"}


def test_of_a_table_the_newest_window_of_each_pool_counts():
    rows = [ROW, {**ROW, "window_end": "2026-09-05T00:00Z", "active_fraction": "0.2"}, {**ROW, "pool": "dc2", "gpus": "16"}]
    first, second = uses_of_rows(rows, source="file x", now=NOW)
    assert (first.pool, first.active_fraction, first.window_end) == ("dc1", 0.2, datetime(2026, 9, 5, tzinfo=UTC))
    assert first.measured_at == first.window_end  # its age is told from there
    assert (second.pool, second.gpus, second.active_fraction) == ("dc2", 16, None)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"allocated_fraction": "1.5"}, "/1/allocated_fraction"),
        ({"allocated_fraction": "55 %"}, "/1/allocated_fraction"),
        ({"allocated_fraction": ""}, "/1"),
        ({"window_end": "2026-09-02"}, "/1/window_end"),
        ({"window_end": "2026-08-01T00:00Z"}, "/1"),
        ({"pool": "a b"}, "/1/pool"),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_place(change, pointer):
    with pytest.raises(InvalidInput) as refused:
        uses_of_rows([{**ROW, **change}], source="file x", now=NOW)
    assert refused.value.pointer == pointer


@pytest.fixture
def poller(engine):
    def made(http, pools=("dc1",), leads=True):
        return UsagePoller(
            engine=engine, http=http, settings=SET, pools=lambda: pools, clock=lambda: NOW, leads=lambda: leads
        )  # fmt: skip

    return made


def test_a_failed_measurement_keeps_the_last_value(engine, poller):
    assert poller(server({"a": vector("0.55"), "b": vector("0.2"), "c": vector("8")})).tick() == 1
    assert poller(server({"a": httpx.Response(403), "b": vector(), "c": vector()})).tick() == 0
    assert [use.allocated_fraction for use in list_uses(engine)] == [0.55]


def test_a_process_that_does_not_lead_measures_nothing(engine, poller):
    assert poller(server({}), leads=False).tick() == 0
    assert list_uses(engine) == []


def test_an_older_window_never_replaces_a_newer_one(engine):
    old, new = (uses_of_rows([{**ROW, "window_end": f"2026-09-0{day}T00:00Z"}], source="f", now=NOW)[0] for day in (2, 3))
    assert keep_use(engine, new, now=NOW)
    assert not keep_use(engine, old, now=NOW)
    assert list_uses(engine) == [new]


def test_the_command_imports_and_lists(tmp_path, monkeypatch, capsys):
    from service.cli.app import run

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    table = tmp_path / "use.csv"
    table.write_text(
        "pool,window_start,window_end,allocated_fraction,active_fraction\ndc1,2026-09-01T00:00Z,2026-09-02T00:00Z,0.55,0.2\n"
    )
    assert run(["usage", "import", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["allocated_fraction"] == 0.55
    assert run(["usage", "list"]) == 0
    assert "55.0" in capsys.readouterr().out
    table.write_text("pool,window_start,window_end\n")
    assert run(["usage", "import", str(table)]) == 2
    assert run(["usage", "measure", "dc1"]) == 2
    assert "GPUPLAN_PROMETHEUS__URL" in capsys.readouterr().err
