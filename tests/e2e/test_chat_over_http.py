"""Chat over real HTTP: a served process with its platforms on, and an alarm that arrives signed at a real server."""

import hashlib
import hmac
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlencode

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from slack_sdk.signature import SignatureVerifier

from service.chat.outgoing import Alarms, make_chat_client
from service.flows.watches import Target

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
KEY = Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A process that serves the reference prices; what it would send outside ends at a closed port of this machine."""
    folder = tmp_path_factory.mktemp("served")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
    environment |= {
        f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in ("RUNPOD", "VAST", "LAMBDA", "AWS", "GCP", "AZURE")
    }
    environment |= {
        "GPUPLAN_DATABASE_URL": f"sqlite:///{folder}/prices.db",
        "GPUPLAN_CHAT__SLACK__SIGNING_SECRET": SECRET,
        "GPUPLAN_CHAT__DISCORD__PUBLIC_KEY": KEY.public_key().public_bytes_raw().hex(),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "PYTHONUNBUFFERED": "1",
    }
    command = [
        sys.executable,
        "-c",
        "import sys; from service.cli import main; sys.exit(main())",
        "serve",
        "--port",
        "0",
        "--no-refresh",
    ]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    address = first.split("docs at ")[1].split("/docs")[0]
    for _ in range(600):
        try:
            httpx.get(f"{address}/healthz", timeout=5)
            break
        except httpx.TransportError:
            time.sleep(0.05)
    yield address
    process.terminate()
    process.wait(timeout=30)
    process.stderr.close()


def slack(base, secret=SECRET):
    body = urlencode(
        {
            "command": "/gpuplan", "text": "cheapest 70B qlora in EU", "user_id": "U", "team_id": "T", "channel_id": "C",
            "response_url": "https://hooks.slack.com/commands/1/2/3", "trigger_id": "1.2",
        }
    )  # fmt: skip
    stamp = str(int(time.time()))
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
    return httpx.post(
        f"{base}/chat/slack", content=body, headers={**headers, "Content-Type": "application/x-www-form-urlencoded"}, timeout=30
    )


def test_slack_is_acknowledged_in_time(base):
    slack(base)  # the first request of a process loads the grammar
    began = time.perf_counter()
    answer = slack(base)
    assert time.perf_counter() - began < 1
    assert answer.status_code == 200
    assert slack(base, secret="another").status_code == 401


def test_discord_s_ping_is_answered_and_its_probe_refused(base):
    raw, stamp = b'{"type": 1}', str(int(time.time()))
    good = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": KEY.sign(stamp.encode() + raw).hex()}
    assert httpx.post(f"{base}/chat/discord", content=raw, headers=good, timeout=30).json() == {"type": 1}
    bad = {**good, "X-Signature-Ed25519": KEY.sign(b"x").hex()}
    assert httpx.post(f"{base}/chat/discord", content=raw, headers=bad, timeout=30).status_code == 401


def test_a_line_then_its_explanation_then_its_launch(base):
    found = httpx.post(f"{base}/chat", json={"text": "cheapest 70B qlora in EU"}, timeout=30).json()
    plan_id = found["plan"]["plan_id"]
    explained = httpx.post(f"{base}/chat", json={"text": "explain 1", "plan_id": plan_id}, timeout=30).json()
    assert explained["text"].startswith("#1: ")
    launched = httpx.get(f"{base}/plans/{plan_id}/launch", params={"option": 1, "format": "torchrun"}, timeout=30)
    assert launched.status_code == 200
    assert "torchrun" in launched.json()["content"]
    assert httpx.get(f"{base}/plans/nonesuch/launch", params={"format": "torchrun"}, timeout=30).status_code == 404


def test_a_platform_whose_secret_is_not_set_is_off(base):
    assert httpx.post(f"{base}/chat/teams", content=b"{}", timeout=30).status_code == 404


def test_watches_are_kept_listed_and_forgotten(base):
    body = {"price": {"gpu": "H100", "max_usd_per_gpu_hour": 0.01}, "webhook_url": "https://93.184.216.34/alarm"}
    made = httpx.post(f"{base}/watches", json=body, timeout=30)
    assert made.status_code == 201, made.text
    assert made.json()["state"] == "unmet"
    watch_id = made.json()["watch_id"]
    (listed,) = httpx.get(f"{base}/watches", timeout=30).json()["watches"]
    assert (listed["watch_id"], listed["secret"]) == (watch_id, None)
    assert httpx.delete(f"{base}/watches/{watch_id}", timeout=30).status_code == 204
    assert httpx.delete(f"{base}/watches/{watch_id}", timeout=30).status_code == 404
    inside = {**body, "webhook_url": "https://127.0.0.1/alarm"}
    assert httpx.post(f"{base}/watches", json=inside, timeout=30).status_code == 422


def test_an_alarm_arrives_signed_at_a_real_server():
    received = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    now = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
    target = Target(kind="webhook", place=f"http://localhost:{server.server_port}/alarm", secret="s3")
    with make_chat_client() as http:
        Alarms(http=http, clock=lambda: now, allow_private=True).send(target, "d1", "words", {"watch_id": "w"})
    server.shutdown()
    thread.join()
    server.server_close()
    ((headers, body),) = received
    signed = f"v1:{int(now.timestamp())}:".encode() + body
    assert headers["X-Gpuplan-Signature"] == "v1=" + hmac.new(b"s3", signed, hashlib.sha256).hexdigest()
    assert headers["Host"] == f"localhost:{server.server_port}"
    assert json.loads(body)["delivery_id"] == "d1"
