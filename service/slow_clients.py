"""Slow clients: the HTTP protocol of the server, which gives up a connection whose headers do not come."""

import asyncio
import json
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MEDIA_TYPE: Final = b"application/problem+json"
_MALFORMED: Final = json.dumps(
    {
        "type": "/problems/bad-request",
        "title": "The request is not understood",
        "status": 400,
        "detail": "What was sent is not HTTP/1.1.",
        "instance": "urn:gpuplan:request:none",
        "code": "bad-request",
        "errors": [],
    }
).encode()


class Impatient(HttpToolsProtocol):
    """Closes a connection that has sent no whole header `header_seconds` after it was opened or began a request."""

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The clock starts with the connection."""
        super().connection_made(transport)
        self._start()

    def on_message_begin(self) -> None:
        """And again with each request on it: a timer of the first one may run still."""
        super().on_message_begin()
        if self._timer is None:
            self._start()

    def on_headers_complete(self) -> None:
        """In time."""
        self._cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the library gives its text
        """The library's text as a problem; it says nothing of what was sent."""
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: " + _MEDIA_TYPE + b"\r\ncontent-length: " + str(len(_MALFORMED)).encode()
        )
        self.transport.write(head + b"\r\nconnection: close\r\nx-content-type-options: nosniff\r\n\r\n" + _MALFORMED)
        self.transport.close()

    def _start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.header_seconds, self.transport.abort)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def protocol_with(header_seconds: float) -> type[Impatient]:
    """The protocol with this patience."""
    return type("Impatient", (Impatient,), {"header_seconds": header_seconds})
