"""API keys on both databases: seen by every process at its poll, ended for good, last use moved forward only."""

from datetime import timedelta

import pytest

from providers.errors import InvalidInput
from service.domain.access import Scope
from service.flows.keys import LastUses, create_key, list_keys, revoke_key
from service.flows.snapshot import SnapshotHolder
from service.store.errors import UnknownKey


@pytest.fixture
def holder(engine, clock):
    made = SnapshotHolder(engine, clock)
    made.poll()
    return made


def test_a_key_is_seen_at_the_next_poll_and_its_end_too(engine, clock, holder):
    market = holder.market()
    plain, stored = create_key(engine, name="ci", scope=Scope.PLAN, expires_at=clock.now + timedelta(days=1), now=clock.now)
    assert holder.keys() == {}
    assert holder.poll()
    assert holder.keys() == {stored.key_id: stored}
    assert plain.startswith(f"gpk_{stored.key_id}_")
    assert holder.market().snapshot_id == market.snapshot_id  # no price changed
    ended = revoke_key(engine, stored.key_id, clock.now)
    assert holder.poll()
    assert holder.keys() == {stored.key_id: ended}
    assert not ended.is_valid(clock.now)
    assert revoke_key(engine, stored.key_id, clock.pass_(days=1)).revoked_at == ended.revoked_at


def test_a_key_ends_at_its_time(engine, clock):
    _, stored = create_key(engine, name="ci", scope=Scope.READ, expires_at=clock.now + timedelta(seconds=1), now=clock.now)
    assert stored.is_valid(clock.now)
    assert not stored.is_valid(clock.pass_(seconds=1))


def test_the_last_use_moves_forward_only(engine, clock):
    _, stored = create_key(engine, name="ci", scope=Scope.READ, expires_at=None, now=clock.now)
    uses = LastUses(engine, clock)
    uses.note(stored.key_id)
    at = clock.now
    uses.flush()
    clock.pass_(seconds=-60)
    uses.note(stored.key_id)
    uses.flush()
    assert [key.last_used_at for key in list_keys(engine)] == [at]


def test_uses_are_written_at_the_end(engine, clock):
    _, stored = create_key(engine, name="ci", scope=Scope.READ, expires_at=None, now=clock.now)
    uses = LastUses(engine, clock, flush_seconds=3600)
    uses.start()
    uses.note(stored.key_id)
    uses.stop()
    assert list_keys(engine)[0].last_used_at == clock.now


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", "\x1b[31m"])
def test_a_name_that_would_break_a_list_is_refused(engine, clock, name):
    with pytest.raises(InvalidInput, match="name"):
        create_key(engine, name=name, scope=Scope.READ, expires_at=None, now=clock.now)


def test_an_end_in_the_past_and_an_unknown_id_are_refused(engine, clock):
    with pytest.raises(InvalidInput, match="end before"):
        create_key(engine, name="ci", scope=Scope.READ, expires_at=clock.now, now=clock.now)
    with pytest.raises(UnknownKey):
        revoke_key(engine, "nonesuch", clock.now)
