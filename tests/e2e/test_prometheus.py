"""A real Prometheus server, fed by a small exporter in the DCGM exporter's words; skipped where there is no binary."""

import os
import shutil
import socket
import subprocess
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from service.flows.usage import measure
from service.usage_settings import PrometheusSettings

PROJECT = Path(__file__).resolve().parents[2]
PLACES = (os.environ.get("PROMETHEUS_BINARY"), shutil.which("prometheus"), PROJECT / ".tools/prometheus/usr/bin/prometheus")
BINARY = next((str(place) for place in PLACES if place and Path(place).is_file()), None)
# four GPUs: two held by pods at 80 and 40 %, two free; the exporter writes an empty pod for a free one
METRICS = "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" + "".join(
    f'DCGM_FI_DEV_GPU_UTIL{{gpu="{at}",UUID="GPU-{at}",pod="{pod}"}} {busy}\n'
    for at, (pod, busy) in enumerate((("train-0", 80), ("train-1", 40), ("", 0), ("", 0)))
)


class _Exporter(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(METRICS.encode())

    def log_message(self, *_):
        """Says nothing."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def prometheus(tmp_path):
    if BINARY is None:
        pytest.skip("no prometheus binary: install Debian's package, or name one in PROMETHEUS_BINARY")
    exporter = ThreadingHTTPServer(("127.0.0.1", 0), _Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 200ms}\nscrape_configs:\n"
        f"- {{job_name: dcgm, static_configs: [{{targets: ['127.0.0.1:{exporter.server_port}']}}]}}\n"
    )
    port = free_port()
    arguments = [f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    process = subprocess.Popen([BINARY, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=10)
    exporter.shutdown()
    exporter.server_close()


def test_the_default_queries_on_a_real_server(prometheus):
    settings = PrometheusSettings(url=prometheus, window_hours=1)
    until = time.monotonic() + 30
    with httpx.Client(timeout=5) as http:
        while True:
            try:
                use = measure(http, settings, "dc1", now=datetime.now(UTC))
                break
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
    # two of four GPUs are held; (80 + 40 + 0 + 0) / 4 = 30 % active
    assert use.allocated_fraction == pytest.approx(0.5, abs=0.02)
    assert use.active_fraction == pytest.approx(0.30, abs=0.02)
    assert use.gpus == 4
