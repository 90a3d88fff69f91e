"""The service as a process: its first lines, the request they show, one writer of prices, and a clean end."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

NETWORK = ("RUNPOD", "VAST", "LAMBDA", "AWS")


@pytest.fixture
def start(tmp_path):
    """Starts the command on a free port with the reference prices only; all are ended after the test."""
    processes = []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUPLAN_")}
    environment |= {f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in NETWORK}
    environment |= {"GPUPLAN_DATABASE_URL": f"sqlite:///{tmp_path}/prices.db", "PYTHONUNBUFFERED": "1"}

    def run(*arguments):
        command = [sys.executable, "-c", "import sys; from service.cli import main; sys.exit(main())", "serve", *arguments]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()


def shown(process):
    """Where the process listens, and the body of the request that its first lines show."""
    first, second = process.stderr.readline(), process.stderr.readline()
    words = shlex.split(second.removeprefix("Try: "))
    assert words[:2] == ["curl", "-s"], second
    base = words[2].removesuffix("/plan")
    assert f"docs at {base}/docs" in first
    assert words[words.index("-H") + 1] == "Content-Type: application/json"
    return base, words[words.index("-d") + 1]


def wait_until_ready(base):
    for _ in range(600):
        try:
            return httpx.get(f"{base}/readyz", timeout=5)
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("not ready within 30 s")


def test_the_first_lines_show_a_request_that_works(start):
    process = start("--port", "0")
    base, body = shown(process)
    assert wait_until_ready(base).json()["status"] == "ready"  # prices are there before the first answer
    answer = httpx.post(f"{base}/plan", content=body, headers={"Content-Type": "application/json"}, timeout=30)
    assert answer.status_code == 200
    assert answer.json()["options"]
    assert "dated" in answer.json()["summary"]
    assert httpx.get(f"{base}/docs", timeout=30).status_code == 200
    states = {one["name"]: one["state"] for one in httpx.get(f"{base}/providers", timeout=30).json()["providers"]}
    assert states["reference"] == "ok"
    assert states["vast"] == "disabled"

    asked = httpx.post(f"{base}/providers/reference/refresh", timeout=30)
    for _ in range(300):
        job = httpx.get(f"{base}{asked.headers['location']}", timeout=30).json()
        if job["status"] not in ("queued", "running"):
            break
        time.sleep(0.05)
    assert (job["status"], job["result"]["changed"]) == ("succeeded", 0)

    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in (0, -signal.SIGTERM)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{base}/healthz", timeout=5)
    lines = [json.loads(line) for line in process.stderr.read().splitlines() if line]  # the log is JSON, line by line
    assert {"/plan", "/readyz"} <= {line.get("route") for line in lines}
    assert "llama" not in json.dumps([line for line in lines if line.get("event") == "request"])


def test_a_taken_port_is_told(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = start("--port", str(taken.getsockname()[1]))
        assert process.wait(60) == 1
    assert "choose another with --port" in process.stderr.read()
