"""The schema goes up and down on both databases, once, and refuses what it does not know."""

import multiprocessing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlmodel import SQLModel

from service.store import idempotency, keys, plans, reports, standing, tables, watches
from service.store.engine import make_engine, writing
from service.store.errors import SchemaOutdated, SchemaTooNew
from service.store.revision import HEAD_REVISION
from service.store.schema import current_revision, downgrade_database, prepare_database


def test_up_down_up_leaves_the_same_schema(empty_database_url):
    engine = make_engine(empty_database_url)
    assert prepare_database(engine) is True
    first = {name for name in inspect(engine).get_table_names() if not name.startswith("price_history_")}
    downgrade_database(engine, "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    assert prepare_database(engine) is True
    assert {name for name in inspect(engine).get_table_names() if not name.startswith("price_history_")} == first
    assert prepare_database(engine) is False
    engine.dispose()


def test_migrations_make_what_the_tables_say(engine):
    rows = (
        tables.CurrentPrice, watches.WatchRow, plans.SavedPlanRow, idempotency.IdempotencyKey, reports.ReportRow, keys.ApiKeyRow,
        standing.StandingRow,
    )  # fmt: skip
    assert {row.__tablename__ for row in rows} <= SQLModel.metadata.tables.keys()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []


def test_times_keep_their_zone_on_postgresql(engine):
    if engine.dialect.name != "postgresql":
        pytest.skip("SQLite keeps no zone: see test_types")
    kinds = {c["name"]: str(c["type"]) for c in inspect(engine).get_columns("price_history")}
    with engine.connect() as connection:
        zone = connection.execute(
            text("SELECT data_type FROM information_schema.columns WHERE table_name='price_history' AND column_name='valid_to'")
        ).scalar()
    assert zone == "timestamp with time zone"
    assert kinds["micro_usd_per_hour"] == "BIGINT"


def test_a_newer_schema_is_refused(engine):
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaTooNew, match="9999"):
        prepare_database(engine)


def test_an_older_schema_is_refused_unless_migration_is_allowed(engine, monkeypatch):
    monkeypatch.setattr("service.store.schema.HEAD_REVISION", "9998")
    with pytest.raises(SchemaOutdated, match="migrate"):
        prepare_database(engine, migrate=False)


def _prepare_in_process(url, start, results):
    engine = make_engine(url)
    start.wait()
    results.put(prepare_database(engine))
    engine.dispose()


def test_two_processes_that_start_at_once_migrate_once(empty_database_url):
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Barrier(2), spawn.Queue()
    both = [spawn.Process(target=_prepare_in_process, args=(empty_database_url, start, results)) for _ in range(2)]
    for process in both:
        process.start()
    done = sorted(results.get(timeout=30) for _ in both)
    for process in both:
        process.join(30)
    assert done == [False, True]
    engine = make_engine(empty_database_url)
    with engine.connect() as connection:
        assert current_revision(connection) == HEAD_REVISION
    engine.dispose()
