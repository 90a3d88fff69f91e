"""HTTP reads of catalogues: bounded in time and size, retried where a retry can help, and silent about secrets.

Every call here is an idempotent read, the catalogue POSTs too. Errors name the provider and what happened, never an
address, a header or a body: credentials stand in those.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import httpx
import stamina

from providers.base import Json
from providers.errors import (
    ProviderCredentials,
    ProviderError,
    ProviderPayloadInvalid,
    ProviderPayloadTooLarge,
    ProviderRateLimited,
    ProviderUnavailable,
)
from providers.exact_json import parse_json
from providers.refused_key import KeyFault, is_refused_key
from providers.retry_after import retry_after

TRIES = 4
MAX_RETRY_AFTER = timedelta(seconds=60)
MAX_BYTES = 100_000_000
MAX_STREAM_BYTES = 4_000_000_000
MAX_LINE_BYTES = 1_000_000
MAX_REDIRECTS = 3  # to the same host only
MAX_BODY_SECONDS = 900  # a server that drips bytes never runs into the read time-out
_USER_AGENT = "gpu-cost-optimizer/0.1 (price catalogue reader)"

T = TypeVar("T")


def make_client(*, transport: httpx.BaseTransport | None = None, user_agent: str = _USER_AGENT) -> httpx.Client:
    """The one client that all adapters share: 10 s to connect, 60 s between bytes, few connections, no redirects followed."""
    return httpx.Client(
        transport=transport,
        timeout=httpx.Timeout(60.0, connect=10.0, pool=10.0),
        limits=httpx.Limits(max_connections=20, max_keepalive_connections=5),
        headers={"User-Agent": user_agent, "Accept": "application/json"},
        follow_redirects=False,
    )


def get_json(
    http: httpx.Client,
    provider: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    max_bytes: int = MAX_BYTES,
    read_timeout_seconds: float | None = None,
    is_key_fault: KeyFault | None = None,
) -> Json:
    """The JSON answer of a GET, its numbers exact (see exact_json). Raises ProviderError.

    401 and 403 mean refused credentials; `is_key_fault` tells which other 4xx do, from status and body (Vast says 404).
    """
    request = _request(http, provider, "GET", url, headers, read_timeout_seconds, params=params)
    return _json(http, provider, request, max_bytes, is_key_fault)


def post_json(
    http: httpx.Client,
    provider: str,
    url: str,
    *,
    body: Json,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    read_timeout_seconds: float | None = None,
    is_key_fault: KeyFault | None = None,
) -> Json:
    """The JSON answer of a POST that only reads, retried like a GET. Raises ProviderError."""
    request = _request(http, provider, "POST", url, headers, read_timeout_seconds, json=body)
    return _json(http, provider, request, max_bytes, is_key_fault)


def stream_lines(
    http: httpx.Client,
    provider: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = MAX_STREAM_BYTES,
    read_timeout_seconds: float | None = None,
) -> Iterator[str]:
    """The lines of a large text file without their ends, one at a time. A break in the middle fails the whole read.

    Raises:
        ProviderError: also for a file over `max_bytes`, a line over a megabyte, or text that is not UTF-8.
    """
    request = _request(http, provider, "GET", url, {"Accept": "*/*", **(headers or {})}, read_timeout_seconds)
    response = _retried(lambda: _open(http, provider, request, None))
    try:
        if "html" in response.headers.get("Content-Type", "").lower():
            raise ProviderPayloadInvalid(provider, "the answer is HTML instead of a text file")
        rest = bytearray()
        for chunk in _chunks(provider, response, max_bytes):
            rest += chunk
            *lines, tail = rest.split(b"\n")
            for line in lines:
                yield _text(provider, line)
            if len(tail) > MAX_LINE_BYTES:
                raise ProviderPayloadInvalid(provider, "a line is longer than a megabyte")
            rest = bytearray(tail)
        if rest:
            yield _text(provider, rest)
    except httpx.HTTPError as error:
        raise ProviderUnavailable(provider, f"the connection broke in the middle ({type(error).__name__})") from None
    finally:
        response.close()


class _Again(Exception):
    """A failure that another try may cure; `error` is what to raise when no try is left."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        self.error = error


def _retried(read: Callable[[], T]) -> T:
    """What `read` returns, in up to TRIES tries, waiting as the provider asks, else about 1, 2 and 4 s with jitter.

    A context, not a decorated function: the retry log then holds no arguments, so no header and no address.
    """
    try:
        for attempt in stamina.retry_context(
            on=_wait_for, attempts=TRIES, timeout=None, wait_initial=1.0, wait_max=20.0, wait_jitter=1.0
        ):
            with attempt:
                return read()
    except _Again as last:
        raise last.error from None
    raise AssertionError("a retry context ends by a result or an error")


def _wait_for(error: Exception) -> bool | timedelta:
    if not isinstance(error, _Again):
        return False
    asked = error.error.retry_after
    return True if asked is None else min(asked, MAX_RETRY_AFTER)


def _request(
    http: httpx.Client,
    provider: str,
    method: str,
    url: str,
    headers: Mapping[str, str] | None,
    read_timeout_seconds: float | None,
    **parts: Any,
) -> httpx.Request:
    read = 60.0 if read_timeout_seconds is None else read_timeout_seconds
    timeout = httpx.Timeout(read, connect=10.0, pool=10.0)
    try:
        return http.build_request(method, url, headers=dict(headers or {}), timeout=timeout, **parts)
    except (httpx.InvalidURL, ValueError):  # a key with a letter outside ASCII stands whole in that error
        pass
    raise ProviderUnavailable(provider, "the configured address or key has characters that cannot be sent")


def _json(http: httpx.Client, provider: str, request: httpx.Request, max_bytes: int, is_key_fault: KeyFault | None) -> Json:
    def read() -> bytes:
        response = _open(http, provider, request, is_key_fault)
        try:
            return b"".join(_chunks(provider, response, max_bytes))
        except httpx.HTTPError as error:
            raise _Again(_unreachable(provider, error)) from None
        finally:
            response.close()

    return parse_json(provider, _retried(read))


def _open(http: httpx.Client, provider: str, request: httpx.Request, is_key_fault: KeyFault | None) -> httpx.Response:
    """The response with status 200 and its body unread. Raises _Again or ProviderError."""
    for _ in range(MAX_REDIRECTS + 1):
        try:
            response = http.send(request, stream=True)
        except httpx.HTTPError as error:
            raise _Again(_unreachable(provider, error)) from None
        if response.status_code == 200:
            return response
        refused_key = is_refused_key(response, is_key_fault)
        response.close()
        if not response.has_redirect_location:
            break
        following = response.next_request
        if following is None or request.method != "GET" or not _same_place(following.url, request.url):
            raise ProviderUnavailable(provider, "the answer redirects to another place: not followed")
        request = following
    raise _refusal(provider, response, refused_key)


def _same_place(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _unreachable(provider: str, error: httpx.HTTPError) -> ProviderUnavailable:
    return ProviderUnavailable(provider, f"could not be reached ({type(error).__name__})")


def _refusal(provider: str, response: httpx.Response, refused_key: bool) -> Exception:
    status = response.status_code
    if refused_key:
        return ProviderCredentials(provider, f"the credentials were refused (HTTP {status})")
    wait = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
    if status == 429:
        return _Again(ProviderRateLimited(provider, "too many requests (HTTP 429)", retry_after=wait))
    if status >= 500 or status == 408:
        return _Again(ProviderUnavailable(provider, f"HTTP {status}", retry_after=wait))
    if response.has_redirect_location:
        return ProviderUnavailable(provider, "too many redirects")
    return ProviderPayloadInvalid(provider, f"HTTP {status} instead of a catalogue")


def _chunks(provider: str, response: httpx.Response, max_bytes: int) -> Iterator[bytes]:
    """The decoded body piece by piece; stops at `max_bytes`, counted after decompression."""
    announced = response.headers.get("Content-Length", "")
    if announced.isdigit() and int(announced) > max_bytes:
        raise ProviderPayloadTooLarge(provider, f"the body is over {max_bytes:,} bytes")
    taken, started = 0, time.monotonic()
    for chunk in response.iter_bytes():
        taken += len(chunk)
        if taken > max_bytes:
            raise ProviderPayloadTooLarge(provider, f"the body is over {max_bytes:,} bytes")
        if time.monotonic() - started > MAX_BODY_SECONDS:
            raise ProviderUnavailable(provider, f"the body took over {MAX_BODY_SECONDS} s")
        yield chunk


def _text(provider: str, line: bytes | bytearray) -> str:
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        pass
    raise ProviderPayloadInvalid(provider, "the file is not UTF-8")
