"""Blocks: an Answer in Slack's Block Kit, within its limits (50 blocks, 3,000 characters a text, 12,000 in all)."""

from typing import Any, Final

from service.chat.answer import Answer
from service.chat.render import aligned, cut, inert, monospaced

MOST_BLOCKS: Final = 40
MOST_IN_TEXT: Final = 2900
MOST_IN_ALL: Final = 10_000
_FENCE: Final = "```"


def slack_message(answer: Answer) -> dict[str, Any]:
    """Fallback text and blocks; what does not fit is counted, with a link to the rest."""
    title = escaped(answer.title)
    bodies = _bodies(answer)
    ending = [*_buttons(answer), *_link(answer)]
    room = MOST_IN_ALL - len(cut(title, MOST_IN_TEXT)) - 200 - sum(len(str(block)) for block in ending)
    blocks = [_section(f"*{cut(title, MOST_IN_TEXT - 2)}*")]
    left = 0
    for body in bodies:
        room -= len(body)
        if left or room < 0 or len(blocks) + len(ending) + 1 >= MOST_BLOCKS:
            left += 1
            room = 0
        else:
            blocks.append(_section(body))
    if left:
        blocks.append(_context(f"{left} more parts do not fit here"))
    return {"text": cut(title, MOST_IN_TEXT), "blocks": [*blocks, *ending], "link_names": False, "unfurl_links": False}


def escaped(text: str) -> str:
    """Inert in Slack's markup: no mention, no link, no formatting by what others wrote."""
    safe = inert(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "*_~`":
        safe = safe.replace(mark, f"{mark}\u200b")
    return safe


def _bodies(answer: Answer) -> list[str]:
    parts = [f"Read as: {escaped(answer.reading)}"] if answer.reading else []
    if answer.block:
        parts.append(_fenced(answer.block.split("\n")))
    parts += [escaped(line) for line in answer.lines]
    for table in answer.tables:
        parts += _pages(aligned(table))
    if answer.notes:
        parts.append("\n".join(escaped(note) for note in answer.notes))
    return [cut(part, MOST_IN_TEXT) for part in parts]


def _pages(lines: list[str]) -> list[str]:
    """Blocks of code that each hold whole lines, the head on every one."""
    head, rows = _code(lines[0]), [_code(line) for line in lines[1:]]
    pages: list[list[str]] = [[]]
    used = len(head)
    for row in rows:
        if pages[-1] and used + len(row) + 1 > MOST_IN_TEXT - 20:
            pages.append([])
            used = len(head)
        pages[-1].append(row)
        used += len(row) + 1
    return [f"{_FENCE}\n{head}\n{chr(10).join(page)}\n{_FENCE}" for page in pages]


def _fenced(lines: list[str]) -> str:
    return f"{_FENCE}\n{chr(10).join(_code(line) for line in lines)}\n{_FENCE}"


def _code(line: str) -> str:
    return monospaced(line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


def _buttons(answer: Answer) -> list[dict[str, Any]]:
    buttons = [
        {
            "type": "button",
            "text": {"type": "plain_text", "text": cut(one.label, 75)},
            "value": one.line[:2000],
            "action_id": f"say-{at}",
        }
        for at, one in enumerate(answer.buttons)
    ]
    return [{"type": "actions", "elements": buttons}] if buttons else []


def _link(answer: Answer) -> list[dict[str, Any]]:
    return [_context(f"<{answer.link}|All of it>")] if answer.link else []
