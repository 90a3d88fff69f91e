"""Secrets are planted in every place that takes one, and then looked for in every log, answer and table."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time

import httpx

from tests.e2e.fake_providers import LAMBDA_PATH, Answer, serve_fake_providers

COMMAND = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())"]
PLANTED = {
    "GPUPLAN_PROVIDERS__LAMBDA__API_KEY": "planted-lambda-7f3a",
    "GPUPLAN_PROVIDERS__RUNPOD__API_KEY": "planted-runpod-91bc",
    "GPUPLAN_PROVIDERS__VAST__API_KEY": "planted-vast-55de",
    "GPUPLAN_CHAT__SLACK__SIGNING_SECRET": "planted-slack-08aa",
    "GPUPLAN_CHAT__MATTERMOST__TOKEN": "planted-mattermost-3c41",
}
IN_REQUESTS = ("planted-body-1234", "planted-header-1234", "planted-path-1234", "planted-query-1234", "planted-webhook-1234")


def test_no_planted_secret_is_found_again(tmp_path):
    with serve_fake_providers() as fakes, socket.socket() as free:
        fakes.answers[LAMBDA_PATH] = lambda request: Answer(401, {"error": {"message": request.headers["authorization"]}})
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
        environment |= {f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in ("AWS", "AZURE", "GCP", "SAGEMAKER")}
        environment |= {f"GPUPLAN_PROVIDERS__{name}__BASE_URL": fakes.url for name in ("RUNPOD", "VAST")}
        environment |= {"GPUPLAN_PROVIDERS__LAMBDA__BASE_URL": fakes.lambda_url} | PLANTED
        environment |= {"GPUPLAN_DATABASE_URL": f"sqlite:///{tmp_path}/prices.db"}
        made = subprocess.run(
            [*COMMAND, "keys", "create", "--name", "ops", "--scope", "admin"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        key = made.stdout.strip()
        log = tmp_path / "serve.log"
        with log.open("w") as told:
            process = subprocess.Popen([*COMMAND, "serve", "--port", str(port)], env=environment, stderr=told, stdout=told)
        try:
            answers = asked(f"http://127.0.0.1:{port}", key)
        finally:
            process.terminate()
            process.wait(30)
    shown = [log.read_text(), made.stderr, *answers]
    with sqlite3.connect(tmp_path / "prices.db") as database:
        shown += list(database.iterdump())
    shown += [subprocess.run([*COMMAND, "doctor", "--json"], env=environment, capture_output=True, text=True, check=False).stdout]
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {"request", "audit", "refreshed"} <= {line["event"] for line in lines}  # the log was searched, not empty
    for secret in (key, key.split("_", 2)[2], *PLANTED.values(), *IN_REQUESTS):
        assert [text[:300] for text in shown if secret in text] == []


def asked(base, key):
    """What the service answers to good and bad requests that hold secrets where none belongs."""
    sent = {"Authorization": f"Bearer {key}"}
    for _ in range(600):
        try:
            httpx.get(f"{base}/healthz", timeout=5)
            break
        except httpx.TransportError:
            time.sleep(0.05)
    plan = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}}
    requests = [
        ("POST", "/plan", {"json": plan, "headers": sent}),
        ("POST", "/plan", {"json": {**plan, "objective": "planted-body-1234"}, "headers": sent}),
        ("POST", "/plan", {"json": plan, "headers": {"Authorization": "Bearer planted-header-1234"}}),
        ("GET", "/gpus", {"headers": {"X-API-Key": "planted-header-1234"}}),
        ("GET", "/gpus", {"headers": {**sent, "X-Request-Id": "planted header-1234"}}),
        ("GET", "/planted-path-1234", {"headers": sent}),
        ("GET", "/jobs/planted-path-1234", {"headers": sent}),
        ("GET", "/offers?cursor=planted-query-1234", {"headers": sent}),
        ("GET", "/offers?gpu=planted-query-1234", {"headers": sent}),
        (
            "POST",
            "/chat/slack",
            {"content": b"text=planted-body-1234", "headers": {"X-Slack-Signature": "v0=planted-header-1234"}},
        ),
        ("POST", "/watches", {"json": {"webhook_url": "http://u:planted-webhook-1234@127.0.0.1/x"}, "headers": sent}),
        ("POST", "/providers/lambda/refresh", {"headers": sent}),
        ("GET", "/metrics", {"headers": sent}),
    ]
    answers = []
    for method, path, how in requests:
        answer = httpx.request(method, base + path, timeout=30, **how)
        answers.append(answer.text + str(dict(answer.headers)))
    for _ in range(200):
        answer = httpx.get(f"{base}/providers", headers=sent, timeout=30)
        states = {one["name"]: one["state"] for one in answer.json()["providers"]}
        if states["lambda"] == "failing":
            break
        time.sleep(0.05)
    assert states["lambda"] == "failing"  # the provider echoed its key, and was refused
    return [*answers, answer.text]
