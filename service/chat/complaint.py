"""Complaint: what is wrong with a line, where (a caret under it) and what would do. Nothing is dropped, nothing guessed."""

from collections.abc import Sequence

from providers.errors import InvalidInput


class Complaint(InvalidInput):
    """A line that is not understood, or that leaves open what is asked."""

    code = "not-understood"

    def __init__(self, message: str, *, text: str, start: int, end: int, allowed: Sequence[str] = ()) -> None:
        super().__init__(message, pointer="/text", allowed=allowed)
        self.text = text
        self.start = start
        self.end = max(end, start + 1)

    @property
    def caret(self) -> str:
        """The line, and carets under the part that is meant."""
        return f"{self.text}\n{' ' * self.start}{'^' * (self.end - self.start)}"

    @property
    def advice(self) -> str:
        """What may have been meant, or ""."""
        return f"Did you mean {' or '.join(self.allowed)}?" if self.allowed else ""
