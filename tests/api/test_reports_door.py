"""POST /reports and what comes of it: followed, fetched in six formats, failed visibly, made again, taken over."""

import csv
import io
import json
import re
import zipfile
from datetime import timedelta
from functools import partial
from itertools import islice

import openpyxl
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from providers.errors import OptimizerError
from service.api.app import create_app
from service.domain.report import ReportFormat
from service.flows.reports import run_next_report
from service.reports.render import rendered
from service.reports.runner import ReportRunner
from service.store.engine import writing
from service.store.tables import Job

TRICK, SCRIPT = '=HYPERLINK("http://evil.example","x")', "<script>alert(1)</script>"
POOL = {"name": "dc1", "gpu": "H100 SXM", "capex_usd_per_node": 275000}
TUNING = {"model": "llama-3.1-8b", "technique": "lora", "tokens": 1e8}
WORKS = (
    {"workload": {**TUNING, "tokens": 5e8}, "usage": {"runs_per_month": 400}, "on_prem": [POOL]},
    {"workload": {**TUNING, "technique": "qlora"}, "usage": {"runs": 3}, "on_prem": ["default"]},
    {"workload": TUNING, "usage": {"runs_per_month": 10}, "on_prem": [POOL]},
)
REVIEW = {"title": f"{TRICK} {SCRIPT}", "currency": "EUR", "period": {"start": "2027-01-01", "end": "2027-12-31"}}
FORMATS = ["json", "md", "csv", "xlsx", "html", "pdf"]


def saved(client, works=WORKS):
    found = []
    for number, work in enumerate(works):
        save = {"name": f"{TRICK} {SCRIPT} {number}", "owner": f"@{SCRIPT}", "note": f"-1+1 {SCRIPT}"}
        answer = client.post("/plan", json={**work, "save": save})
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["plan_id"])
    return found


def asked(client, **changed):
    answer = client.post("/reports", json={**REVIEW, **changed})
    assert answer.status_code == 202, answer.text
    return answer


def quick(inputs):
    """Every format at once, without drawing."""
    for one in ReportFormat:
        yield one, f"{one.value} of {inputs.title} over {len(inputs.plans)}".encode()


def first_of(count, inputs):
    """The first formats of a report."""
    return islice(rendered(inputs), count)


def make(engine, now, render=quick, holder="a"):
    return run_next_report(engine, holder=holder, clock=lambda: now, render=render)


def test_a_report_is_followed_and_then_read(stored_client, engine, now):
    ids = saved(stored_client)
    accepted = asked(stored_client, plan_ids=ids, title="FY27")
    report_id, job_id = accepted.json()["report_id"], accepted.json()["job_id"]
    assert accepted.headers["location"] == f"/jobs/{job_id}"
    early = stored_client.get(f"/reports/{report_id}.pdf")
    assert (early.status_code, early.headers["retry-after"], early.content) == (202, "1", b"")
    assert stored_client.get(f"/jobs/{job_id}").json()["status"] == "queued"
    assert make(engine, now) == job_id
    job = stored_client.get(f"/jobs/{job_id}").json()
    assert (job["status"], job["progress"], job["result"]["report_id"]) == ("succeeded", 1.0, report_id)
    for one in FORMATS:
        answer = stored_client.get(f"/reports/{report_id}.{one}")
        assert answer.text == f"{one} of FY27 over 3"
        assert f"gpuplan-estimate-{report_id[:8]}.{one}" in answer.headers["content-disposition"]
    listed = stored_client.get("/reports").json()["reports"]
    assert [(one["report_id"], one["status"], one["plan_ids"]) for one in listed] == [(report_id, "ready", ids)]


def test_a_failed_report_says_why_and_is_made_again(stored_client, engine, now):
    class NoInk(OptimizerError):
        code = "no-ink"

    def broken(inputs):
        yield ReportFormat.MD, b"# x"
        raise NoInk("the printer has no ink")

    accepted = asked(stored_client, plan_ids=saved(stored_client)).json()
    make(engine, now, broken)
    job = stored_client.get(f"/jobs/{accepted['job_id']}").json()
    assert (job["status"], job["problem"]) == ("failed", {"code": "no-ink", "detail": "the printer has no ink"})
    answer = stored_client.get(f"/reports/{accepted['report_id']}.pdf")
    assert (answer.status_code, answer.json()["code"]) == (409, "report-failed")
    assert "no ink" in answer.json()["detail"]
    again = stored_client.post(f"/reports/{accepted['report_id']}/retry")
    assert again.status_code == 202
    assert again.json()["job_id"] != accepted["job_id"]
    assert stored_client.post(f"/reports/{accepted['report_id']}/retry").status_code == 409
    make(engine, now)
    assert stored_client.get(f"/reports/{accepted['report_id']}.pdf").status_code == 200


def test_a_report_that_a_dead_process_left_is_taken_up_and_given_up_after_three(stored_client, engine, now):
    accepted = asked(stored_client, plan_ids=saved(stored_client)).json()

    class Killed(BaseException):
        """Nothing of the process runs on."""

    def dies(inputs):
        yield ReportFormat.MD, b"# x"
        raise Killed

    at = now
    for number in range(3):
        with pytest.raises(Killed):
            make(engine, at, dies, holder=f"process {number}")
        assert stored_client.get(f"/jobs/{accepted['job_id']}").json()["status"] == "running"
        assert make(engine, at + timedelta(seconds=30)) is None  # it may still live
        at += timedelta(seconds=61)
    assert make(engine, at) is None
    job = stored_client.get(f"/jobs/{accepted['job_id']}").json()
    assert (job["status"], job["problem"]["code"]) == ("failed", "interrupted")
    assert stored_client.get(f"/reports/{accepted['report_id']}.pdf").status_code == 409


def test_what_one_process_dropped_another_finishes(stored_client, engine, now):
    accepted = asked(stored_client, plan_ids=saved(stored_client)).json()
    with writing(engine) as connection:
        values = {"status": "running", "holder": "gone", "beat_at": now - timedelta(minutes=5), "attempts": 1}
        connection.execute(update(Job.__table__).values(**values))
    assert make(engine, now) == accepted["job_id"]
    assert stored_client.get(f"/reports/{accepted['report_id']}.csv").status_code == 200


def test_a_cancelled_report_is_not_made(stored_client, engine, now):
    accepted = asked(stored_client, plan_ids=saved(stored_client)).json()
    stored_client.delete(f"/jobs/{accepted['job_id']}")
    assert make(engine, now) is None
    answer = stored_client.get(f"/reports/{accepted['report_id']}.md")
    assert (answer.status_code, answer.json()["code"]) == (409, "report-failed")


def test_the_runner_makes_what_waits_and_survives_a_failure(stored_client, engine, now):
    def broken(inputs):
        raise RuntimeError("a fault of ours")
        yield

    first = asked(stored_client, plan_ids=saved(stored_client)).json()
    runner = ReportRunner(engine, lambda: now, holder="a", render=broken)
    runner.work()
    problem = stored_client.get(f"/jobs/{first['job_id']}").json()["problem"]
    assert problem["code"] == "internal"
    assert "a fault of ours" not in problem["detail"]
    stored_client.post(f"/reports/{first['report_id']}/retry")
    assert ReportRunner(engine, lambda: now, holder="a", render=quick).work() == 1
    assert stored_client.get(f"/reports/{first['report_id']}.md").status_code == 200


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"plan_ids": ["0" * 32]}, "/plan_ids/0"),
        ({"period": {"start": "2027-02-01", "end": "2027-01-31"}}, "/period"),
        ({"period": {"start": "0001-01-01", "end": "2027-01-31"}}, "/period"),
        ({"currency": "XYZ"}, "/currency"),
        ({"currency": "euro"}, "/currency"),
        ({"title": "x" * 10_000}, "/title"),
        ({"title": ""}, "/title"),
        ({"horizon_months": 0}, "/horizon_months"),
        ({"plan_ids": []}, ""),
        ({"colour": "red"}, "/colour"),
        (
            {"requests": [{"workload": {"model": "nothing-like-it", "technique": "lora", "tokens": 1}}]},
            "/requests/0/workload/model",
        ),
    ],
)
def test_what_cannot_be_reported_is_refused(client, changed, pointer):
    ids = saved(client, WORKS[:1])
    answer = client.post("/reports", json={**REVIEW, "plan_ids": ids, **changed})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_unknown_reports_and_formats_are_refused(client):
    assert client.get(f"/reports/{'0' * 32}.pdf").status_code == 404
    assert client.post(f"/reports/{'0' * 32}/retry").status_code == 404
    assert client.get(f"/reports/{'0' * 32}.docx").status_code == 422


def test_a_report_asked_for_twice_with_a_key_is_one(client):
    ids = saved(client, WORKS[:1])
    body = {**REVIEW, "plan_ids": ids}
    first = client.post("/reports", json=body, headers={"Idempotency-Key": "r1"})
    second = client.post("/reports", json=body, headers={"Idempotency-Key": "r1"})
    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    other = client.post("/reports", json={**body, "title": "other"}, headers={"Idempotency-Key": "r1"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


@pytest.fixture(scope="module")
def made(shared_holder, tmp_path_factory, small_context):
    """One report over three saved plans and a request, in all six formats, twice with another stamp."""
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    engine = make_engine(f"sqlite:///{tmp_path_factory.mktemp('reports')}/prices.db")
    prepare_database(engine)
    context = small_context(shared_holder, engine)
    client = TestClient(create_app(context))
    ids = saved(client)
    body = {"plan_ids": ids, "requests": [{**WORKS[2], "usage": {"runs_per_month": 11}}]}
    found = []
    for second in range(2):
        report_id = asked(client, **body).json()["report_id"]
        if second:
            from service.store.reports import ReportRow

            with writing(engine) as connection:
                later = context.clock() + timedelta(days=200)
                is_second = ReportRow.__table__.c.report_id == report_id
                connection.execute(update(ReportRow.__table__).where(is_second).values(created_at=later))
        kinds = FORMATS[:-1] if second else FORMATS  # the PDF, which comes last, takes the longest
        run_next_report(engine, holder="a", clock=context.clock, render=partial(first_of, len(kinds)))
        answers = {one: client.get(f"/reports/{report_id}.{one}") for one in kinds}
        assert {answer.status_code for answer in answers.values()} == {200}, client.get("/reports").text
        found.append({one: answer.content for one, answer in answers.items()})
    yield {"ids": ids, "first": found[0], "second": found[1]}
    engine.dispose()


def test_two_reports_of_the_same_plans_differ_by_their_stamp_only(made):
    stamps = re.compile(rb"2026-03-02.12:00:30(?:Z| UTC)?|2026-09-18.12:00:30(?:Z| UTC)?")
    for one in ("md", "html", "json"):
        first, second = (stamps.sub(b"STAMP", made[which][one]) for which in ("first", "second"))
        assert first == second, one
        assert made["first"][one] != made["second"][one]
    assert made["first"]["csv"] == made["second"]["csv"]
    books = [zipfile.ZipFile(io.BytesIO(made[which]["xlsx"])) for which in ("first", "second")]
    differ = [name for name in books[0].namelist() if books[0].read(name) != books[1].read(name)]
    assert set(differ) <= {"docProps/core.xml", "xl/sharedStrings.xml"}


def test_user_text_is_inert_in_html(made):
    page = made["first"]["html"].decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import""", re.sub(r'xlink:href="#|href="#|url\(#', "", page))


def test_user_text_is_inert_in_the_workbook(made):
    book = openpyxl.load_workbook(io.BytesIO(made["first"]["xlsx"]))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    texts = [cell for cell in cells if isinstance(cell.value, str) and TRICK in cell.value]
    assert texts
    assert {cell.data_type for cell in texts} == {"s"}
    assert not [cell for cell in cells if cell.hyperlink]
    assert not [cell for cell in cells if cell.data_type == "f" and "HYPERLINK" in str(cell.value)]


def test_user_text_is_inert_in_csv(made):
    lines = made["first"]["csv"].decode()
    assert lines.startswith("BilledCost,")
    rows = list(csv.DictReader(io.StringIO(lines, newline="")))
    assert any(row["x_PlanName"].startswith("'=HYPERLINK") for row in rows)
    assert not [value for row in rows for value in row.values() if value.startswith(("=", "+", "@", "\t", "\r"))]
    assert not [
        value for row in rows for value in row.values() if value.startswith("-") and not re.fullmatch(r"-?[0-9.]+", value)
    ]


def test_user_text_is_inert_in_markdown(made):
    text = made["first"]["md"].decode()
    assert text.startswith("# ")
    assert "<script" not in text.replace("\\<script", "")


def test_the_document_holds_what_a_review_asks_for(made):
    document = json.loads(made["first"]["json"])
    titles = [section["title"] for section in document["sections"]]
    for wanted in ("Summary", "Cash flow", "Change since the last review", "Risks in money", "Approval", "Cash flow by month",
                   "Considered and left out", "Assumptions", "Price evidence", "Versions and hashes"):  # fmt: skip
        assert wanted in titles
    names = {table["name"] for section in document["sections"] for table in section["tables"]}
    assert {"options", "components", "scenarios", "tornado", "decision", "futures"} <= names
    assert [one["state"] for one in document["money"]] == ["draft"] * 3 + ["unsaved"]
    assert document["currency"] == "EUR"
    assert document["exchange_rate"]["day"] <= "2026-03-02"
    assert len(document["plans"]) == 4
    excluded = next(section for section in document["sections"] if section["title"] == "Considered and left out")
    assert excluded["tables"][0]["rows"][0][1] == "do nothing"


def test_shown_amounts_add_up_in_the_shown_currency(made):
    document = json.loads(made["first"]["json"])
    for money, section in zip(
        document["money"], [one for one in document["sections"] if one["title"][:1].isdigit()], strict=True
    ):
        table = next(one for one in section["tables"] if one["name"] == "components")
        usd = sum(row[2]["usd"] for row in table["rows"])
        assert usd == pytest.approx(table["total"][2]["usd"], abs=1e-5)
        assert money["recommended"]
