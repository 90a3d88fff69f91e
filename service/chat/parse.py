"""Parse: a line of text to a typed Reading, or a Complaint that says where and what would do."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from service.chat.complaint import Complaint
from service.chat.lexer import Terminals, terminals_of
from service.chat.lexicon import lexicon
from service.chat.reader import reading_of
from service.chat.reading import Reading

MAX_CHARACTERS: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_NEXT: Final = {
    "MONEY": "an amount ($3/h, $2/gpu/h)",
    "GPU": "a card (H100, a100 80gb)",
    "PLACE": "a place (EU, US, eu-west-1)",
    "DURATION": "a time (72h, 2 weeks)",
    "PERCENT": "a share (45%)",
    "INT": "a number",
    "PROVIDER": "a provider (aws, not vast)",
    "PER_HOUR": "/h or /gpu/h",
    "VS": "vs and another machine",
    "MODEL": "a model or a size (70b)",
    "WATCH_ID": "the watch's id",
    "CHEAPEST": "a verb: cheapest, compare, breakeven, history, explain, watch, providers or help",
}
# What is worth naming where it is expected; the rest would be a long list.
_TOLD: Final = ("CHEAPEST", "MONEY", "GPU", "PLACE", "DURATION", "PERCENT", "PROVIDER", "WATCH_ID", "VS", "INT", "PER_HOUR")


def parse(text: str, *, providers: frozenset[str] = frozenset()) -> Reading:
    """The reading of a line; `providers` are sellers' names beside the known ones (a price file's).

    Raises:
        Complaint: too long, an unknown word, words in an order that says nothing, or something left open.
    """
    line = line_of(text)
    if len(line) > MAX_CHARACTERS:
        raise Complaint(
            f"a line has at most {MAX_CHARACTERS} characters, this one has {len(line)}", text=line[:60] + "...", start=0, end=1
        )
    if not line:
        line = "help"
    tokens = terminals_of(line, lexicon(providers))
    try:
        tree = _grammar().parse(tokens)
    except UnexpectedToken as error:
        raise _misplaced(line, tokens, error) from None
    return reading_of(line, tree)


def line_of(text: str) -> str:
    """The text as one line, without what does not print: what complaints show."""
    return " ".join(_CONTROL.sub(" ", text).split())


@cache
def _grammar() -> Lark:
    text = files("service.chat").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=Terminals, propagate_positions=True)


def _misplaced(line: str, tokens: list[Token], error: UnexpectedToken) -> Complaint:
    """The token that cannot stand where it stands, or the end that comes too early."""
    expected = set(error.accepts or error.expected)
    wanted = [_NEXT[name] for name in _TOLD if name in expected]
    is_end = error.token.type == "$END"
    start = len(line) if is_end else int(error.token.start_pos or 0)
    end = start + 1 if is_end else int(error.token.end_pos or start + 1)
    what = "something is missing here" if is_end else "this cannot stand here"
    first = next((token for token in tokens if token.start_pos == start), None)
    if first is not None and not is_end and tokens and first is tokens[0]:
        what = "a line begins with what is asked"
    if (wanted and len(expected) < 12) or "CHEAPEST" in expected:
        what += f": expected {' or '.join(wanted[:3])}"
    return Complaint(what, text=line, start=start, end=end)
