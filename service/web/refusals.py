"""Refusals: what a page says when it cannot do what was asked, with the status and the way on."""

from dataclasses import dataclass


@dataclass(slots=True)
class PageRefusal(Exception):
    """Shown as a page of its own."""

    status: int
    title: str
    detail: str
    link: tuple[str, str] = ("/", "Plan a workload")  # where to go on, and its words
