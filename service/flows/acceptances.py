"""Acceptances: registered, changed and ended by an administrator; only who has seen a version replaces it."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Connection, Engine

from providers.errors import InvalidInput
from providers.evidence import EVIDENCE
from service.domain.acceptance import Acceptance
from service.flows.pools import ANY_VERSION, PoolChanged, VersionNotTold
from service.store.engine import reading, writing
from service.store.errors import UnknownAcceptance
from service.store.feeds import lock_market
from service.store.standing import ACCEPTANCE, entries_now, put_entry


def version_of(acceptance: Acceptance) -> str:
    """A name for exactly this content."""
    return sha256(acceptance.model_dump_json().encode()).hexdigest()[:32]


def list_acceptances(engine: Engine) -> list[Acceptance]:
    """Every registered acceptance by name, those that are over too."""
    with reading(engine) as connection:
        return list(_stored(connection).values())


def read_acceptance(engine: Engine, name: str) -> Acceptance:
    """The registered acceptance. Raises UnknownAcceptance."""
    with reading(engine) as connection:
        return _found(_stored(connection), name)


def put_acceptance(engine: Engine, acceptance: Acceptance, *, seen: str | None, must_be_new: bool, now: datetime) -> bool:
    """Registers an acceptance under its name; True when there was none of that name.

    Raises:
        InvalidInput: no evidence names this provider and tier, so that nothing could be admitted.
        PoolChanged, VersionNotTold: the stored version is not the one that the caller has seen.
    """
    if EVIDENCE.tier(acceptance.provider, acceptance.tier) is None:
        tiers = sorted(tier for provider, tier in EVIDENCE.tiers if provider == acceptance.provider)
        providers = sorted({provider for provider, _ in EVIDENCE.tiers})
        if tiers:
            raise InvalidInput("there is no evidence of this tier", pointer="/tier", allowed=tiers)
        raise InvalidInput("there is no evidence of this provider", pointer="/provider", allowed=providers)
    with writing(engine) as connection:
        lock_market(connection)
        known = _stored(connection).get(acceptance.name)
        _require_seen(known, seen, must_be_new=must_be_new)
        put_entry(connection, ACCEPTANCE, acceptance.name, acceptance.model_dump(mode="json"), now=now)
        return known is None


def drop_acceptance(engine: Engine, name: str, *, seen: str | None, now: datetime) -> None:
    """Ends an acceptance; plans with an earlier `as_of` still find it. Raises UnknownAcceptance, PoolChanged, VersionNotTold."""
    with writing(engine) as connection:
        lock_market(connection)
        _require_seen(_found(_stored(connection), name), seen, must_be_new=False)
        put_entry(connection, ACCEPTANCE, name, None, now=now)


def _stored(connection: Connection) -> dict[str, Acceptance]:
    found = entries_now(connection, ACCEPTANCE)
    return {name: Acceptance.model_validate(content, strict=False) for _, name, content in found}


def _found(stored: Mapping[str, Acceptance], name: str) -> Acceptance:
    if name not in stored:
        raise UnknownAcceptance("no acceptance has this name")
    return stored[name]


def _require_seen(known: Acceptance | None, seen: str | None, *, must_be_new: bool) -> None:
    if known is None:
        if seen is not None:
            raise PoolChanged("there is no acceptance of this name")
        return
    if must_be_new or seen not in (None, ANY_VERSION, version_of(known)):
        raise PoolChanged("the stored acceptance is another version")
    if seen is None:
        raise VersionNotTold("say which version is to be replaced")
