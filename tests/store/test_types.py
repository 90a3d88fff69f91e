"""Times come back aware, equal and in order from both databases; a naive one is refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, select
from sqlalchemy.exc import StatementError

from service.store.engine import writing
from service.store.types import UtcDateTime

MOMENTS = Table("moments", MetaData(), Column("id", Integer, primary_key=True), Column("at", UtcDateTime))
NOON = datetime(2026, 3, 29, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def moments(engine):
    MOMENTS.create(engine)
    return engine


def test_a_time_of_another_zone_comes_back_as_the_same_instant_in_utc(moments):
    with writing(moments) as connection:
        connection.execute(MOMENTS.insert().values(id=1, at=NOON.astimezone(timezone(timedelta(hours=9)))))
        found = connection.execute(select(MOMENTS.c.at)).scalar_one()
    assert found == NOON
    assert found.utcoffset() == timedelta(0)


def test_comparison_is_by_instant_also_for_whole_seconds(moments):
    whole = NOON.replace(microsecond=0)
    with writing(moments) as connection:
        connection.execute(MOMENTS.insert(), [{"id": 1, "at": whole}, {"id": 2, "at": NOON}])
        assert connection.execute(select(MOMENTS.c.id).where(whole < MOMENTS.c.at)).scalars().all() == [2]


def test_a_time_without_zone_is_refused(moments):
    with pytest.raises(StatementError, match="without a zone"), writing(moments) as connection:
        connection.execute(MOMENTS.insert().values(id=1, at=NOON.replace(tzinfo=None)))
