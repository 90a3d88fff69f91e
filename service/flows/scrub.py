"""Scrubbing a provider's answer for a fixture: credentials, people, machine ids and network addresses replaced. Pure.

What stands for one value stands for it everywhere, so that rows that belong together still do. Names of cards, machine
types, regions and prices stay: without them it would be no fixture.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from providers.base import Json

SCRUBBED: Final = "scrubbed"
_FIRST_ID: Final = 1000
_PRIVATE: Final = frozenset(
    {"account", "apikey", "authorization", "contact", "cookie", "credential", "credentials", "email", "hostname", "key", "owner",
     "password", "phone", "secret", "signature", "token", "user", "username", "webpage"}
)  # fmt: skip
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OPAQUE: Final = re.compile(r"\d{5,}|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{16,}")  # a number, or letters and digits without a blank
_IN_TEXT: Final = re.compile(
    r"(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<key>\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|\bBearer\s+\S+|\bAIza[\w-]{30,})"
    r"|(?P<account>(?<=:)\d{12}(?=:))"
    r"|(?P<mac>\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b)"
    r"|(?P<v4>(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.]))"
    r"|(?P<v6>(?<![\w:])[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?![\w:]))"
)


@dataclass(slots=True)
class _Scrubber:
    secrets: tuple[str, ...]
    known: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def value(self, value: Json, names: frozenset[str], is_id: bool) -> Json:
        """A part of the answer; `names` are the words of the key that it stands under."""
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(inner, *_named(str(key))) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, names, is_id) for inner in value]
        if value is None or isinstance(value, bool):
            return value
        if names & _PRIVATE:
            return SCRUBBED if isinstance(value, str) else 0
        if isinstance(value, str):
            return self._id_text(value) if is_id and _OPAQUE.fullmatch(value) else self.text(value)
        return self._number("id", value) if is_id and isinstance(value, int) else value

    def text(self, text: str) -> str:
        """A text without the secrets of the settings, keys, e-mail and network addresses."""
        for secret in self.secrets:
            text = text.replace(secret, SCRUBBED)
        return _IN_TEXT.sub(self._found, text)

    def _found(self, found: "re.Match[str]") -> str:
        kind, text = str(found.lastgroup), found.group()
        if kind in ("mail", "key", "account"):
            return {"mail": "someone@example.com", "key": SCRUBBED, "account": "000000000000"}[kind]
        if kind != "mac" and not _is_address(text):
            return text
        number = self._number(kind, text) - _FIRST_ID
        return {
            "mac": f"00:00:5e:00:53:{number % 256:02x}",
            "v4": f"192.0.2.{number % 256}",
            "v6": f"2001:db8::{number:x}",
        }[kind]

    def _id_text(self, text: str) -> str:
        number = self._number("id", text)
        return str(number) if text.isdigit() else f"id-{number}"

    def _number(self, kind: str, value: Any) -> int:
        taken = sum(1 for held, _ in self.known if held == kind) if (kind, value) not in self.known else 0
        found: int = self.known.setdefault((kind, value), _FIRST_ID + taken)
        return found


def scrubbed(payload: Json, *, secrets: Collection[str] = ()) -> Json:
    """The payload with everything replaced that is nobody's business; `secrets` are the adapter's own credentials."""
    longest_first = tuple(sorted({secret for secret in secrets if secret}, key=len, reverse=True))
    return _Scrubber(longest_first).value(payload, frozenset(), False)


def _named(key: str) -> tuple[frozenset[str], bool]:
    """The words of a key, and whether it names an id."""
    words = [word.casefold() for word in _WORD.findall(key)]
    return frozenset(words), bool(words) and words[-1] in ("id", "ids", "uuid")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return text != "::"
