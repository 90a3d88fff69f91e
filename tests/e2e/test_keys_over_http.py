"""Keys over real HTTP: a wide address opens with one only, scopes hold, an end is seen within two seconds."""

import json
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

COMMAND = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())"]
PLAN = {"workload": {"model": "llama-3.1-8b", "technique": "qlora", "tokens": 50000000}}


@pytest.fixture
def environment(tmp_path):
    made = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
    made |= {f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in ("RUNPOD", "VAST", "LAMBDA", "AWS", "AZURE")}
    return made | {"GPUPLAN_DATABASE_URL": f"sqlite:///{tmp_path}/prices.db", "GPUPLAN_LIMITS__HEADER_SECONDS": "1"}


def run(environment, *arguments):
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False)


def create(environment, *arguments):
    done = run(environment, "keys", "create", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def serve(environment):
    started = []

    def start(host):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [*COMMAND, "serve", "--no-refresh", "--host", host, "--port", str(port)]
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        base = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                assert httpx.get(f"{base}/readyz", timeout=5).status_code == 200
                return base
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("not ready within 30 s")

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def status(base, method, path, key, **how):
    return httpx.request(method, base + path, headers={"Authorization": f"Bearer {key}"}, timeout=30, **how).status_code


def until(wanted, ask):
    """Seconds until the answer is as wanted; two are allowed."""
    began = time.monotonic()
    while ask() != wanted:
        assert time.monotonic() - began < 2.0
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_wide_address_does_not_open_without_a_key(environment):
    done = run(environment, "serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "gpuplan keys create" in done.stderr


def test_keys_of_a_wide_address(environment, serve):
    admin = create(environment, "--name", "ops", "--scope", "admin")
    plan = create(environment, "--name", "ci", "--scope", "plan", "--expires", "1h")
    base = serve("0.0.0.0")
    assert httpx.post(f"{base}/plan", json=PLAN, timeout=30).status_code == 401
    assert status(base, "POST", "/plan", plan["key"], json=PLAN) == 200
    assert status(base, "DELETE", "/on-prem/none", plan["key"]) == 403
    assert status(base, "DELETE", "/on-prem/none", admin["key"]) in (404, 428)
    assert httpx.get(f"{base}/healthz").status_code == 200

    late = create(environment, "--name", "late", "--scope", "read")
    until(200, lambda: status(base, "GET", "/gpus", late["key"]))
    assert run(environment, "keys", "revoke", late["key_id"]).returncode == 0
    until(401, lambda: status(base, "GET", "/gpus", late["key"]))

    listed = run(environment, "keys", "list", "--json").stdout
    assert [(one["name"], one["state"]) for one in json.loads(listed)] == [("ops", "valid"), ("ci", "valid"), ("late", "revoked")]
    assert plan["key"] not in listed


def test_a_client_that_sends_no_whole_header_is_given_up(serve):
    base = serve("127.0.0.1")
    with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])), timeout=10) as slow:
        slow.sendall(b"POST /plan HTTP/1.1\r\nHost: x")
        began = time.monotonic()
        assert slow.recv(1) == b""
        assert time.monotonic() - began < 5
    answer = httpx.get(f"{base}/gpus", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (421, "misdirected-request")
    with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])), timeout=10) as broken:
        broken.sendall(b"\x00\x01garbage\r\n\r\n")
        assert b"application/problem+json" in broken.recv(4096)
