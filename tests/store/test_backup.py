"""Backup and restore: whole or not at all, checked, and never over a database that is in use."""

import sqlite3
import threading

import pytest

from service.flows.backup import CannotBackUp, InUse, NotABackup, backup_database, restore_database
from service.flows.invariants import broken_invariants
from service.store.engine import make_engine, reading, writing
from service.store.errors import SchemaTooNew
from service.store.prices import stored_prices


@pytest.fixture
def filled(engine, refresh, offers_of):
    if engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL is copied by its own tools")
    refresh(*offers_of(50))
    return engine


def prices_in(url):
    engine = make_engine(url)
    with reading(engine) as connection:
        found = stored_prices(connection)
    assert broken_invariants(engine) == []
    engine.dispose()
    return found


def test_a_copy_is_the_database_as_it_was(filled, database_url, refresh, offers_of, tmp_path):
    backup_database(database_url, tmp_path / "copy.db")
    before = prices_in(database_url)
    refresh(*offers_of(50, usd_per_hour="11"))
    assert prices_in(database_url) != before
    assert restore_database(tmp_path / "copy.db", f"sqlite:///{tmp_path}/new/prices.db")
    assert prices_in(f"sqlite:///{tmp_path}/new/prices.db") == before


def test_a_copy_taken_beside_a_writer_is_whole(filled, database_url, refresh, offers_of, tmp_path):
    ended = threading.Event()

    def write():
        usd = 11
        while not ended.is_set():
            refresh(*offers_of(50, usd_per_hour=str(usd)))
            usd += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            backup_database(database_url, tmp_path / f"{number}.db")
    finally:
        ended.set()
        writer.join()
    for number in range(5):
        [feed] = prices_in(f"sqlite:///{tmp_path}/{number}.db").values()
        assert len(feed) == 50
        assert len(set(feed.values())) == 1  # one refresh, not two halves


def test_a_live_database_is_not_replaced(filled, database_url, tmp_path):
    copy = tmp_path / "copy.db"
    backup_database(database_url, copy)
    with pytest.raises(CannotBackUp, match="already"):
        restore_database(copy, database_url)
    with writing(filled) as connection:
        connection.exec_driver_sql("UPDATE leases SET expires_at = '2999-01-01 00:00:00.000000'")
    with pytest.raises(InUse):
        restore_database(copy, database_url, replace=True)
    with writing(filled) as connection:
        connection.exec_driver_sql("DELETE FROM leases")
    restore_database(copy, database_url, replace=True)
    assert len(prices_in(database_url)["fake"]) == 50


@pytest.mark.parametrize("content", [b"", b"not a database" * 500, None])
def test_a_file_that_is_no_copy_is_refused(tmp_path, content):
    wrong = tmp_path / "wrong.db"
    if content is None:
        sqlite3.connect(wrong).execute("CREATE TABLE t (x)").connection.close()
    else:
        wrong.write_bytes(content)
    with pytest.raises(NotABackup):
        restore_database(wrong, f"sqlite:///{tmp_path}/prices.db")
    assert not (tmp_path / "prices.db").exists()


def test_a_copy_of_a_newer_version_is_refused(filled, database_url, tmp_path):
    backup_database(database_url, tmp_path / "copy.db")
    copy = sqlite3.connect(tmp_path / "copy.db")
    copy.execute("UPDATE alembic_version SET version_num = '9999'")
    copy.commit()
    copy.close()
    with pytest.raises(SchemaTooNew):
        restore_database(tmp_path / "copy.db", f"sqlite:///{tmp_path}/prices.db.new")


def test_targets_that_would_be_lost_are_refused(filled, database_url, tmp_path):
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with pytest.raises(CannotBackUp, match="exists"):
        backup_database(database_url, taken)
    with pytest.raises(CannotBackUp, match="itself"):
        backup_database(database_url, tmp_path / "prices.db", replace=True)
    with pytest.raises(CannotBackUp, match="pg_dump"):
        backup_database("postgresql+psycopg://h/d", taken)
    assert taken.read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(".")) == []
