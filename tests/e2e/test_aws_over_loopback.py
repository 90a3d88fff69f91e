"""Real boto3 and httpx against servers on this machine: moto for EC2, small ones for prices, files and refusals."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pydantic import SecretStr

from providers.aws import Aws
from providers.aws.calls import client_factory
from providers.errors import ProviderCredentials, ProviderPayloadInvalid, ProviderRateLimited, ProviderUnavailable
from providers.http import make_client
from providers.offer import CapacityType

NOW = datetime(2026, 7, 20, 13, tzinfo=UTC)
FIXTURES = Path(__file__).parents[1] / "fixtures"
LISTED = json.loads((FIXTURES / "aws_payload.json").read_text())["regions"]["us-east-1"]["listed"]
KEYS = {"access_key_id": SecretStr("testing"), "secret_access_key": SecretStr("testing-secret")}


@contextmanager
def serving(answer):
    """A server whose every request is answered by `answer(method, path, headers, body) -> (status, type, bytes)`."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, kind, content = answer(self.command, self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = respond

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def moto_url():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def price_list_api(method, path, headers, body):
    """GetProducts in two pages, by the service's own JSON protocol."""
    assert headers["X-Amz-Target"] == "AWSPriceListService.GetProducts"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=testing/")
    asked = json.loads(body)
    region = next(chosen["Value"] for chosen in asked["Filters"] if chosen["Field"] == "regionCode")
    wanted = [text.replace("us-east-1", region) for text in LISTED]
    matching = [text for text in wanted if matches(json.loads(text), asked["Filters"])]
    start = int(asked.get("NextToken", "0"))
    page = {"FormatVersion": "aws_v1", "PriceList": matching[start : start + 4]}
    if start + 4 < len(matching):
        page["NextToken"] = str(start + 4)
    return 200, "application/x-amz-json-1.1", json.dumps(page).encode()


def matches(entry, filters):
    attributes = {**entry["product"]["attributes"], "productFamily": entry["product"]["productFamily"]}
    return all(attributes.get(chosen["Field"]) == chosen["Value"] for chosen in filters)


def signed(pricing_url, ec2_url, *, attempts=1):
    """Prices from one server, machines from another, and a single attempt so that no test waits."""
    of = {
        service: client_factory(**KEYS, session_token=None, endpoint_url=url, max_attempts=attempts)
        for service, url in (("pricing", pricing_url), ("ec2", ec2_url))
    }
    return lambda service, region: of[service](service, region)


def advisor(method, path, headers, body):
    table = {"spot_advisor": {"us-east-1": {"Linux": {"g5.xlarge": {"s": 50, "r": 2}}}}}
    return 200, "application/json", json.dumps(table).encode()


@pytest.mark.slow  # moto writes all 1395 machine types as XML
def test_prices_machines_and_spot_over_the_wire(moto_url):
    with serving(price_list_api) as pricing_url, serving(advisor) as advisor_url, make_client() as http:
        aws = Aws(regions=("us-east-1",), make_client=signed(pricing_url, moto_url), spot_advisor_url=advisor_url)
        batch = aws.parse(aws.fetch(http), NOW)
    assert batch.failed_scopes == {}
    on_demand = {offer.instance_type: offer for offer in batch.offers if offer.capacity_type is CapacityType.ON_DEMAND}
    assert {name: str(offer.usd_per_hour.normalize()) for name, offer in on_demand.items()} == {
        "g5.xlarge": "1.006",  # the filters leave one plain Linux row of each machine
        "g6.xlarge": "0.8048",
        "g6f.large": "0.2024",
        "g6e.xlarge": "1.861",
        "p5en.48xlarge": "63.296",
        "g5g.xlarge": "0.42",
    }
    assert on_demand["g6f.large"].gpu_count == 0.125
    spot = [offer for offer in batch.offers if offer.capacity_type is CapacityType.SPOT]
    assert {offer.usd_per_hour for offer in spot} == {Decimal("0.00001")}  # moto knows one price
    of_g5 = [offer for offer in spot if offer.instance_type == "g5.xlarge"]
    assert len({offer.zone for offer in of_g5}) == len(of_g5) > 1
    assert all(offer.zone.startswith("us-east-1") for offer in spot)
    assert {offer.interruption_fraction_per_month for offer in of_g5} == {(0.10, 0.15)}


def ec2_refusal(code, status):
    text = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>no</Message></Error></Errors><RequestID>1</RequestID></Response>"
    )
    return lambda method, path, headers, body: (status, "text/xml", text.encode())


@pytest.mark.parametrize(
    ("code", "status", "raised"),
    [
        ("RequestLimitExceeded", 503, ProviderRateLimited),
        ("AuthFailure", 401, ProviderCredentials),
        ("UnauthorizedOperation", 403, ProviderCredentials),
        ("InternalError", 500, ProviderUnavailable),
    ],
)
def test_what_ec2_answers_when_it_refuses(code, status, raised):
    with serving(price_list_api) as pricing_url, serving(ec2_refusal(code, status)) as ec2_url, make_client() as http:
        aws = Aws(regions=("us-east-1",), make_client=signed(pricing_url, ec2_url))
        with pytest.raises(raised, match=f"DescribeInstanceTypes in us-east-1: {code}"):
            aws.fetch(http)


def test_a_throttled_price_list_is_rate_limited(moto_url):
    def throttled(method, path, headers, body):
        return 400, "application/x-amz-json-1.1", b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'

    with serving(throttled) as pricing_url, make_client() as http:
        aws = Aws(regions=("us-east-1",), make_client=signed(pricing_url, moto_url))
        with pytest.raises(ProviderRateLimited, match="GetProducts for us-east-1: ThrottlingException"):
            aws.fetch(http)


def test_an_html_page_instead_of_prices_is_a_fault_of_the_answer(moto_url):
    def portal(method, path, headers, body):
        return 200, "text/html", b"<html>sign in</html>"

    with serving(portal) as pricing_url, make_client() as http:
        aws = Aws(regions=("us-east-1",), make_client=signed(pricing_url, moto_url))
        with pytest.raises(ProviderPayloadInvalid, match="GetProducts for us-east-1"):
            aws.fetch(http)


def test_a_port_where_nobody_listens_is_unavailable():
    with serving(price_list_api) as gone:
        pass
    with make_client() as http:
        aws = Aws(regions=("us-east-1",), make_client=signed(gone, gone))
        with pytest.raises(ProviderUnavailable, match="EndpointConnectionError"):
            aws.fetch(http)


def test_the_keys_and_the_endpoint_of_the_settings_are_used_for_signed_calls():
    seen = []

    def refuse(method, path, headers, body):
        seen.append((headers.get("Authorization", ""), headers.get("X-Amz-Security-Token")))
        return 400, "application/x-amz-json-1.1", b'{"__type": "UnrecognizedClientException"}'

    with serving(refuse) as url, make_client() as http:
        aws = Aws(regions=("us-east-1",), **KEYS, session_token=SecretStr("token"), endpoint_url=url)
        with pytest.raises(ProviderCredentials) as caught:
            aws.fetch(http)
    assert seen
    assert all("Credential=testing/" in authorization and token == "token" for authorization, token in seen)
    assert "testing" not in str(caught.value)


def public_files(recorded):
    path = "/offers/v1.0/aws/AmazonEC2/20260720000000/us-east-1/index"
    contents = {
        "/offers/v1.0/aws/AmazonEC2/current/region_index.json": json.dumps(
            {"regions": {"us-east-1": {"currentVersionUrl": f"{path}.json"}}}
        ).encode(),
        **recorded(path),
    }

    def answer(method, path, headers, body):
        kind = "application/json" if path.endswith(".json") else "text/csv"
        return (200, kind, contents[path]) if path in contents else (404, "text/plain", b"no such file")

    return answer


def test_the_public_csv_over_the_wire():
    csv = (FIXTURES / "aws_bulk_us-east-1.csv").read_bytes().replace(b"\n", b"\r\n")
    with serving(public_files(lambda path: {f"{path}.csv": csv})) as url, make_client() as http:
        aws = Aws(regions=("us-east-1",), base_url=url + "/")
        batch = aws.parse(aws.fetch(http), NOW)
    assert {offer.instance_type for offer in batch.offers} == {"p4d.24xlarge", "g6f.large", "g5.xlarge", "g6.xlarge"}


def test_the_recorded_bulk_list_over_the_wire(shared_data):
    recorded = (shared_data / "payloads" / "aws" / "bulk_price_list_p4d_ondemand_and_capacity_block.json").read_bytes()
    with serving(public_files(lambda path: {f"{path}.json": recorded})) as url, make_client() as http:
        aws = Aws(regions=("us-east-1",), base_url=url)
        batch = aws.parse(aws.fetch(http), NOW)
    assert [(offer.instance_type, offer.usd_per_hour) for offer in batch.offers] == [("p4d.24xlarge", Decimal("32.7726"))]
    assert [refused.reason for refused in batch.rejected] == ["not_on_demand"]
