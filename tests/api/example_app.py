"""The application that the examples of the OpenAPI document come from, and how they are called and cut.

Run `python tests/api/example_app.py` to record them anew in service/api/examples.json.
"""

import importlib.util
import json
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
RECORDED = PROJECT / "service" / "api" / "examples.json"
JOB_ID = "5f2c1f9be3a04b7e8d6a0c4de2b19a77"
POOL = {
    "gpu": "H100 SXM", "gpus_per_node": 8, "nodes": 2, "mode": "buy", "capex_usd_per_node": 275000, "country": "DE",
    "electricity_usd_per_kwh": 0.22,
}  # fmt: skip
ACCEPTANCE = {
    "provider": "lambda", "tier": "on-demand", "attestation": "soc2_type2", "document": "compliance share, report of May 2026",
    "approver": "Ada Lovelace", "accepted_on": "2026-01-15", "expires_on": "2027-01-14",
}  # fmt: skip
REQUESTS = {
    "makePlan": {
        "workload": {
            "name": "support-bot-sft", "task": "train", "model": "meta-llama/Llama-3.1-8B", "technique": "lora",
            "precision": "bf16", "sequence_length": 2048, "micro_batch_size": 4, "gradient_checkpointing": True,
            "tokens": 50000000, "checkpoint": {"supported": "yes", "interval_minutes": 30, "restart_minutes": 10},
        },
        "usage": {"runs_per_month": 8, "horizon_months": 36},
        "constraints": {"data_sensitivity": "internal", "deadline_hours": 24},
        "on_prem": [{"name": "dc1", "gpu": "H100 SXM", "gpus_per_node": 8, "mode": "buy", "capex_usd_per_node": 275000}],
        "limit": 5,
    },
    "estimateWorkload": {
        "workload": {"model": "meta-llama/Llama-3.1-8B", "technique": "qlora", "tokens": 50000000},
        "gpus": ["L4", "H100"],
        "gpu_counts": [1, 8],
    },
    "makeBreakeven": {
        "pool": {"name": "dc1", "gpu": "H100 SXM", "gpus_per_node": 8, "mode": "buy", "capex_usd_per_node": 275000},
        "cloud_usd_per_gpu_hour": 3.99,
        "utilization": 0.55,
        "demand": {"mean_gpus": 4.4, "peak_gpus": 16},
        "scenarios": [{"name": "price war", "cloud_price_factor": 0.7}],
    },
    "putPool": POOL,
    "putAcceptance": ACCEPTANCE,
    "makeChatAnswer": {"text": "cheapest 8b qlora 50M tokens under $30/h"},
    "makeWatch": {
        "price": {"gpu": "H100", "max_usd_per_gpu_hour": 2.0, "residency": ["EU"]},
        "webhook_url": "https://alarms.example.com/gpu",
    },
    "putPlanState": {
        "state": "approved", "by": "cfo@example.com", "limit_usd": 5000, "valid_until": "2027-03-01T00:00:00Z",
        "allowed_drift_fraction": 0.1, "note": "for the year's budget",
    },
    "makeShare": {"valid_hours": 72},
    "makeReport": {
        "plan_ids": ["0e05709e57422fcc8e215f789954d87c"], "title": "GPU budget FY27",
        "period": {"start": "2027-01-01", "end": "2027-12-31"}, "horizon_months": 36, "currency": "EUR",
    },
}  # fmt: skip
PLAN_ID, TOKEN = "0e05709e57422fcc8e215f789954d87c", "t" * 43
REPORT_ID = "7b1d0c4e9a2f4c6d8e5f3a1b2c4d6e8f"
WATCH_ID = "3f0c5a9d2b7e4861"
LONGEST_LIST = 2  # of the recorded answers: the shape is told, not the table


def example_client(small, engine):
    """The app over an empty database, filled with a pool, a job, a watch, a saved plan and two prices of the past."""
    from sqlalchemy import insert
    from starlette.testclient import TestClient

    from service.api.app import create_app
    from service.domain.acceptance import Acceptance
    from service.domain.request import OnPremPool, PlanRequest
    from service.flows.acceptances import put_acceptance
    from service.flows.pools import put_pool
    from service.store.engine import writing
    from service.store.prices import apply_difference, difference
    from service.store.tables import Job
    from service.store.watches import DeliveryRow, WatchRow

    holder = small.Holder(small.market_of(small.OFFERS, snapshot_id="42-648c1f0a3e6c0"))
    put_pool(
        engine, OnPremPool.model_validate_json(json.dumps({**POOL, "name": "dc1"})), seen=None, must_be_new=True, now=small.NOW
    )
    named = Acceptance.model_validate_json(json.dumps({**ACCEPTANCE, "name": "lambda-soc2-2026"}))
    put_acceptance(engine, named, seen=None, must_be_new=True, now=small.NOW)
    with writing(engine) as connection:
        queued = {"job_id": JOB_ID, "kind": "refresh", "subject": "reference", "status": "queued", "created_at": small.NOW}
        connection.execute(insert(Job.__table__).values(**queued, accept=False, progress=0.0))
        watched = {"kind": "price", "condition": REQUESTS["makeWatch"]["price"], "owner": "rest:anyone", "state": "unmet"}
        target = {"kind": "webhook", "place": REQUESTS["makeWatch"]["webhook_url"], "secret": "s"}
        connection.execute(insert(WatchRow.__table__).values(watch_id=WATCH_ID, **watched, target=target, created_at=small.NOW))
        alarm = {"delivery_id": "d1", "watch_id": WATCH_ID, "text": "1x H100-SXM, spot: $1.90 per hour", "event": {}}
        times = {"created_at": small.NOW, "delivered_at": small.NOW}
        connection.execute(insert(DeliveryRow.__table__).values(**alarm, **times, status="delivered", attempts=1))
        for day, usd in ((10, "3.29"), (20, "2.99")):
            offer = replace(small.OFFERS[0], usd_per_hour=Decimal(usd))
            found = difference(connection, "lambda", {offer.offer_id: offer}, kept_scopes=())
            apply_difference(connection, "lambda", {offer.offer_id: offer}, found, at=datetime(2026, 2, day, tzinfo=UTC))
    context = small.context_over(holder, engine, saved=OnePlan())
    OnePlan.plan = context.chat.world.plan(PlanRequest.model_validate_json(json.dumps(REQUESTS["makePlan"])), holder.market)
    client = TestClient(create_app(context))
    keep_plan(client, engine)
    return client


def keep_plan(client, engine):
    """A saved plan with one link, under the ids of the examples."""
    from hashlib import sha256

    from sqlalchemy import update

    from service.store.engine import writing
    from service.store.plans import PlanEventRow, PlanShareRow, SavedPlanRow

    saved = {"name": "support bot FY27", "owner": "ana@example.com", "note": "eight tuning runs a month"}
    place = client.post("/plan", json={**REQUESTS["makePlan"], "save": saved}).headers["location"]
    client.post(f"{place}/share", json=REQUESTS["makeShare"])
    with writing(engine) as connection:
        for table in (SavedPlanRow, PlanEventRow, PlanShareRow):
            connection.execute(update(table.__table__).values(plan_id=PLAN_ID))
        link = {"share_id": WATCH_ID, "token_hash": sha256(TOKEN.encode()).hexdigest()}
        connection.execute(update(PlanShareRow.__table__).values(**link))
    keep_report(client, engine)


def keep_report(client, engine):
    """A report that is made in one format and then failed, under the id of the examples."""
    from sqlalchemy import update

    from service.store.engine import writing
    from service.store.reports import ReportRow, save_file

    accepted = client.post("/reports", json=REQUESTS["makeReport"])
    assert accepted.status_code == 202, accepted.text
    problem = {"code": "interrupted", "detail": "each of 3 processes that ran it stopped"}
    with writing(engine) as connection:
        connection.execute(update(ReportRow.__table__).values(report_id=REPORT_ID, status="failed", problem=problem))
        save_file(connection, REPORT_ID, "md", b"# GPU budget FY27\n")


class OnePlan:
    """A store that knows one plan under every name."""

    plan = None

    def get(self, plan_id):
        """The plan."""
        return self.plan


def call(client, path, method, operation):
    """Sends an operation's example as the document tells it."""
    if operation["operationId"] == "putPool":
        client.delete("/on-prem/dc1", headers={"If-Match": "*"})
    if operation["operationId"] == "putAcceptance":
        client.delete("/acceptances/lambda-soc2-2026", headers={"If-Match": "*"})
    headers = {}
    for one in operation.get("parameters", []):
        examples = one["schema"].get("examples")
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", str(examples[0]))
        elif one["in"] == "header" and examples:
            headers[one["name"]] = examples[0]
        elif one.get("required"):
            path += ("&" if "?" in path else "?") + f"{one['name']}={examples[0]}"
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return client.request(method, path, headers=headers, **({"json": content["example"]} if "example" in content else {}))


def cut(value):
    """The value with its lists cut to their first members."""
    if isinstance(value, dict):
        return {name: cut(inner) for name, inner in value.items()}
    return [cut(inner) for inner in value[:LONGEST_LIST]] if isinstance(value, list) else value


def record():
    """Writes the examples: first the requests, then what the app answers to them."""
    from service.api import openapi_document
    from service.api.document import examples
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    spec = importlib.util.spec_from_file_location("small", Path(__file__).with_name("conftest.py"))
    small = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(small)
    recorded = {}
    for path, methods in openapi_document()["paths"].items():
        for method, operation in methods.items():
            with tempfile.TemporaryDirectory() as folder:
                engine = make_engine(f"sqlite:///{folder}/prices.db")
                prepare_database(engine)
                name = operation["operationId"]
                if name in REQUESTS:
                    operation["requestBody"]["content"]["application/json"]["example"] = REQUESTS[name]
                answer = call(example_client(small, engine), path, method, operation)
                assert answer.is_success, answer.text
                found = {"request": REQUESTS[name]} if name in REQUESTS else {}
                if answer.headers.get("content-type") == "application/json":
                    found["answer"] = cut(answer.json())
                recorded[name] = found
                engine.dispose()
    examples.cache_clear()
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(PROJECT))
    record()
