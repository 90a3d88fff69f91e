"""A loopback stand-in for Lambda, RunPod (both APIs), Vast, Azure and Google Cloud, from the small fixtures of this project.

Start one with `with serve_fake_providers() as fakes:` and hand `fakes.lambda_url`, `fakes.runpod_url` and `fakes.vast_url`
to the adapters as their `base_url`, `fakes.url` to Azure and Google Cloud. Answers may be replaced by path while it runs,
with an Answer or a function of the request: `fakes.answers[VAST_PATH] = Answer(503)`. `fakes.seen` holds every request.
Nothing recorded from the real services is served here.
"""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.e2e.fake_hyperscalers import AZURE_PATH, SERVICES_PATH, azure_answer, google_answer

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
LAMBDA_PATH = "/api/v1/instance-types"
RUNPOD_GPUS_PATH = "/v2/catalog/gpus"
RUNPOD_CENTERS_PATH = "/v2/catalog/datacenters"
RUNPOD_GRAPHQL_PATH = "/graphql"
VAST_PATH = "/api/v0/bundles/"

Json = Any


def fixture(name: str) -> Json:
    """A fixture file, parsed."""
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Answer:
    """What the server sends: a status, a body (JSON, text or bytes) and headers."""

    status: int = 200
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Request:
    """What a client sent; the names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json


def lambda_answer(request: Request) -> Answer:
    """Lambda's list of instance types, for anybody with a key."""
    if not request.headers.get("authorization", "").startswith("Bearer "):
        return Answer(401, {"error": {"code": "global/invalid-api-key", "message": "no key"}})
    return Answer(body=fixture("lambda/instance_types.json"))


def runpod_answer(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: Json) -> tuple[int, Json]:
    """The small market over REST v2 (with a key) or GraphQL (without): status and JSON."""
    market = fixture("runpod/market.json")
    if path == RUNPOD_GRAPHQL_PATH:
        return 200, {"data": _graphql_data(market, body)}
    if not headers.get("authorization", "").startswith("Bearer "):
        return 401, {"title": "Unauthorized", "status": 401, "detail": "no token"}
    if path == RUNPOD_CENTERS_PATH:
        keys = ("id", "name", "compliance")
        return 200, {"dataCenters": [{key: center[key] for key in keys} for center in market["data_centers"] if center["listed"]]}
    if path == RUNPOD_GPUS_PATH and query.get("include") == "AVAILABILITY" and "product" not in query:
        return 400, {"title": "Bad Request", "status": 400, "detail": "product is missing"}
    if path == RUNPOD_GPUS_PATH:
        return 200, {"gpus": [_rest_row(market, kind, query) for kind in market["types"]]}
    return 404, {"title": "Not Found", "status": 404, "detail": "no such resource"}


def vast_answer(request: Request) -> Answer:
    """Vast's search: honours `limit` (64 when absent) and the filters on verified, rentable and rented."""
    if not isinstance(request.body, dict):
        return Answer(400, {"success": False, "error": "invalid_request", "msg": "no JSON body"})
    asked = request.body
    rows = fixture("vast/bundles.json")["offers"]
    if "verified" in asked:
        rows = [row for row in rows if (row["verification"] == "verified") == asked["verified"]["eq"]]
    for column in ("rentable", "rented"):
        if column in asked:
            rows = [row for row in rows if row[column] == asked[column]["eq"]]
    return Answer(body={"success": True, "offers": rows[: asked.get("limit", 64)]})


def _rest_row(market: Json, kind: Json, query: Mapping[str, str]) -> Json:
    cloud, count = query.get("cloud", "SECURE").lower(), int(query.get("count", "1"))
    stock = {s["place"]: s["word"] for s in market["stock"] if s["id"] == kind["id"] and s["count"] == count}
    centers = {center["id"] for center in market["data_centers"]}
    here = {place: word for place, word in stock.items() if (place in centers) == (cloud == "secure")}
    best = max(here.values(), key=("LOW", "MEDIUM", "HIGH").index, default="NONE")
    return {
        "id": kind["id"],
        "name": kind["name"],
        "pool": None,
        "manufacturer": kind["manufacturer"],
        "memory": kind["memory"],
        "secure": kind["secure"] is not None,
        "community": kind["community"] is not None,
        "price": {"secure": kind["secure"] or 0, "community": kind["community"] or 0},
        "maxCount": {"secure": kind["max_secure"], "community": kind["max_community"]},
        "availability": best,
        "dataCenters": [{"id": p, "name": p, "availability": word} for p, word in here.items()] if cloud == "secure" else [],
    }


def _graphql_data(market: Json, body: Json) -> Json:
    if "dataCenters" in body["query"]:
        return {
            "gpuTypes": [_graphql_type(kind) for kind in market["types"]],
            "dataCenters": [{**center, "location": "somewhere"} for center in market["data_centers"]],
            "countryCodes": market["country_codes"],
        }
    aliases = re.findall(r"(\w+): gpuTypes \{ id lowestPrice\(input: \$(\w+)\)", body["query"])
    return {alias: [_graphql_probe(market, kind, body["variables"][name]) for kind in market["types"]] for alias, name in aliases}


def _graphql_type(kind: Json) -> Json:
    return {
        "id": kind["id"],
        "displayName": kind["name"],
        "manufacturer": kind["manufacturer"].title(),
        "memoryInGb": kind["memory"],
        "secureCloud": kind["secure"] is not None,
        "communityCloud": kind["community"] is not None,
        "securePrice": kind["secure"],
        "communityPrice": kind["community"],
        "maxGpuCount": max(kind["max_secure"], kind["max_community"]),
        "maxGpuCountSecureCloud": kind["max_secure"],
        "maxGpuCountCommunityCloud": kind["max_community"],
        "minPodGpuCount": 1,
    }


def _graphql_probe(market: Json, kind: Json, asked: Json) -> Json:
    """Like the service, two nulls where the card is not to be had at that width; no bid means the bid is the price."""
    place = asked.get("dataCenterId") or asked.get("countryCode")
    found = [s for s in market["stock"] if (s["id"], s["place"], s["count"]) == (kind["id"], place, asked["gpuCount"])]
    price = kind["secure"] if asked["secureCloud"] else kind["community"]
    if not found or price is None:
        return {"id": kind["id"], "lowestPrice": {"minimumBidPrice": None, "uninterruptablePrice": None, "stockStatus": None}}
    bid = found[0].get("bid", price)
    lowest = {"minimumBidPrice": bid, "uninterruptablePrice": price, "stockStatus": found[0]["word"].title()}
    return {"id": kind["id"], "lowestPrice": lowest}


def _route(request: Request) -> Answer:
    if request.path == LAMBDA_PATH:
        return lambda_answer(request)
    if request.path == VAST_PATH:
        return vast_answer(request)
    if request.path == AZURE_PATH:
        return Answer(*azure_answer(f"http://{request.headers['host']}", request.query))
    if request.path.startswith(SERVICES_PATH):
        return Answer(*google_answer(request.path, request.query, request.headers))
    status, body = runpod_answer(request.method, request.path, request.query, request.headers, request.body)
    return Answer(status, body)


@dataclass
class FakeProviders:
    """The running stand-in: its addresses, what it saw, and answers that take the place of the fixtures."""

    url: str
    answers: dict[str, Answer | Callable[[Request], Answer]] = field(default_factory=dict)
    seen: list[Request] = field(default_factory=list)

    @property
    def lambda_url(self) -> str:
        return f"{self.url}/api/v1"

    @property
    def runpod_url(self) -> str:
        return self.url

    @property
    def vast_url(self) -> str:
        return self.url


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up in the middle (it refused the answer) is no fault of this server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve_fake_providers() -> Iterator[FakeProviders]:
    """A server on a free port of 127.0.0.1, in a thread, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            split = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, split.path, dict(parse_qsl(split.query)), headers, _parsed(raw))
            fakes.seen.append(request)
            instead = fakes.answers.get(split.path, _route)
            answer = instead(request) if callable(instead) else instead
            length = str(len(answer.content))
            headers = {"Content-Type": "application/json", "Content-Length": length, **answer.headers}
            self.send_response(answer.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)
            self.close_connection = headers["Content-Length"] != length  # a test of a body that ends too early

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: the requests are in `seen`."""

    server = _Server(("127.0.0.1", 0), Handler)
    fakes = FakeProviders(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fakes
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _parsed(raw: bytes) -> Json:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None
