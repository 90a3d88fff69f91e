"""Render: an Answer as plain text and as Markdown. What people or providers wrote is made inert: no mention, no markup."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from service.chat.answer import Answer, Table
from service.domain.chat import ChatAnswer

_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MARKUP: Final = re.compile(r"([\\*_~`\[\]<>|#])")
_BREAK: Final = "\u200b"  # no blank: it keeps @here and http: from being taken for what they look like
WIDEST_CELL: Final = 72


def inert(text: str) -> str:
    """The same words without control characters, mentions, previews of addresses, and direction marks."""
    cleared = _CONTROL.sub(" ", text)
    return cleared.replace("@", f"@{_BREAK}").replace("://", f":{_BREAK}//")


def monospaced(text: str) -> str:
    """Inert text that does not end the block of code it stands in."""
    return inert(text).replace("`", "'")


def cut(text: str, most: int) -> str:
    """At most so many characters; a cut is visible."""
    return text if len(text) <= most else text[: most - 1] + "…"


def aligned(table: Table, *, widest: int = WIDEST_CELL) -> list[str]:
    """The head and rows of a table as lines of columns of the same width; empty columns are left out."""
    kept = [at for at in range(len(table.head)) if any(row[at] for row in table.rows)]
    rows = [[cut(" ".join(row[at].split()), widest) for at in kept] for row in (table.head, *table.rows)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(kept))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def text_of(answer: Answer) -> str:
    """Plain text for a terminal or a bot."""
    parts = [answer.title]
    if answer.reading:
        parts.append(f"Read as: {answer.reading}")
    parts += answer.lines
    if answer.block:
        parts.append(answer.block)
    parts += ["\n".join(aligned(table)) for table in answer.tables]
    parts += [f"({note})" for note in answer.notes]
    if answer.link:
        parts.append(f"All of it: {answer.link}")
    return "\n".join(_CONTROL.sub(" ", part) for part in parts)


def markdown_of(answer: Answer, *, most: int = 12_000) -> str:
    """Markdown with tables, every cell escaped; at most so many characters, then the link to the rest."""
    tail = f"\n\n[All of it]({answer.link})" if answer.link else ""
    parts = [f"**{_escaped(answer.title)}**"]
    if answer.reading:
        parts.append(f"Read as: {_escaped(answer.reading)}")
    if answer.block:
        parts.append(f"```\n{monospaced(answer.block)}\n```")
    parts += [_escaped(line) for line in answer.lines]
    parts += [_table(table) for table in answer.tables]
    parts += [f"_{_escaped(note)}_" for note in answer.notes]
    return "\n\n".join(fitting(parts, most - len(tail) - 40)) + tail


def fitting(parts: Iterable[str], most: int) -> Iterator[str]:
    """The first parts that fit together, and a word about the rest."""
    used, left = 0, 0
    for part in parts:
        used += len(part) + 2
        if left or used > most:
            left += 1
        else:
            yield part
    if left:
        yield f"({left} more parts are left out here)"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", inert(text))


def _table(table: Table) -> str:
    lines = [table.head, tuple("---" for _ in table.head), *table.rows]
    rows = (line if at == 1 else tuple(_escaped(cut(cell, WIDEST_CELL)) for cell in line) for at, line in enumerate(lines))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def chat_answer(answer: Answer) -> ChatAnswer:
    """The answer as `POST /chat` gives it."""
    return ChatAnswer(
        text=text_of(answer),
        markdown=markdown_of(answer),
        plan=answer.plan,
        understood=not answer.is_refusal,
        private=answer.is_private,
    )
