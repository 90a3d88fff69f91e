"""Keys: making, listing and ending API keys, and noting when each was used last."""

import hashlib
import secrets
import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from providers.errors import InvalidInput
from service.domain.access import ApiKey, Scope
from service.store import keys
from service.store.engine import reading, writing

if TYPE_CHECKING:
    from sqlalchemy import Engine

PREFIX: Final = "gpk_"
FLUSH_SECONDS: Final = 30.0
_ID_BYTES, _SECRET_BYTES, _MOST_NAME = 6, 32, 64


def create_key(engine: "Engine", *, name: str, scope: Scope, expires_at: datetime | None, now: datetime) -> tuple[str, ApiKey]:
    """A new key and what is stored of it. This is the only time that the key is known.

    Raises:
        InvalidInput: the name is empty, too long or not printable, or the key would have ended already.
    """
    if not name or len(name) > _MOST_NAME or not name.isprintable():
        raise InvalidInput(f"a key's name has 1 to {_MOST_NAME} printable characters", pointer="/name")
    if expires_at is not None and expires_at <= now:
        raise InvalidInput("a key cannot end before it begins", pointer="/expires")
    key_id = secrets.token_hex(_ID_BYTES)
    plain = f"{PREFIX}{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    stored = ApiKey(key_id=key_id, name=name, scope=scope, digest=digest_of(plain), created_at=now, expires_at=expires_at)
    with writing(engine) as connection:
        keys.add_key(connection, stored)
    return plain, stored


def list_keys(engine: "Engine") -> list[ApiKey]:
    """Every key, the ended ones too, oldest first."""
    with reading(engine) as connection:
        return keys.all_keys(connection)


def revoke_key(engine: "Engine", key_id: str, now: datetime) -> ApiKey:
    """Ends a key at once; other processes see it at their next poll. Raises UnknownKey."""
    with writing(engine) as connection:
        return keys.revoke_key(connection, key_id, now)


def digest_of(plain: str) -> str:
    """What is stored of a key: it has 256 random bits, so that a plain digest cannot be guessed back."""
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def key_id_of(plain: str) -> str:
    """The public part of what may be a key; empty when it has not the shape of one."""
    begins = len(PREFIX)
    ends = begins + 2 * _ID_BYTES
    return plain[begins:ends] if plain.startswith(PREFIX) and plain[ends : ends + 1] == "_" else ""


class LastUses:
    """Notes uses in memory and writes them now and then: a request never waits for it."""

    def __init__(self, engine: "Engine", clock: Callable[[], datetime], *, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._engine, self._clock, self._flush_seconds = engine, clock, flush_seconds
        self._uses: dict[str, datetime] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, key_id: str) -> None:
        """This key was used now."""
        self._uses[key_id] = self._clock()

    def flush(self) -> None:
        """Writes what was noted."""
        uses, self._uses = self._uses, {}
        if uses:
            with writing(self._engine) as connection:
                keys.note_uses(connection, uses)

    def start(self) -> None:
        """Writes in a thread until `stop`."""
        self._thread = threading.Thread(target=self._run, name="last-uses", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Writes the rest and ends the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        import structlog

        log = structlog.get_logger("keys")
        while True:
            is_last = self._stop.wait(self._flush_seconds)
            try:
                self.flush()
            except Exception as error:  # noqa: BLE001 - a lost time of use must not end the thread; it is logged
                log.warning("last_uses_not_written", error=type(error).__name__)
            if is_last:
                return
