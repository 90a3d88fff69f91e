"""Settings of every test: no network beyond loopback, one deterministic hypothesis profile, the place of shared facts."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
settings.register_profile("full", deadline=None, max_examples=600)
settings.load_profile(os.environ.get("GPUPLAN_HYPOTHESIS_PROFILE", "ci"))

PROJECT = Path(__file__).resolve().parent.parent
SHARED = PROJECT.parent / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def _only_loopback():
    """A call to any other host fails at once, so that a forgotten fake is seen."""
    real_connect = socket.socket.connect

    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address[0]}")
        return real_connect(self, address)

    socket.socket.connect = connect
    yield
    socket.socket.connect = real_connect


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded answers and real catalogues that may not be copied here; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"recorded data are not beside the project ({SHARED.name} not found)")
    return SHARED
