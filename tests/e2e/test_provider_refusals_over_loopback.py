"""Every answer that is no catalogue: through the real client it becomes one error of ours that tells why and no secret."""

import gzip
from datetime import timedelta

import httpx
import pytest
import stamina

from providers.errors import (
    ProviderCredentials,
    ProviderPayloadInvalid,
    ProviderPayloadTooLarge,
    ProviderRateLimited,
    ProviderUnavailable,
)
from providers.http import make_client
from providers.registry import ADAPTERS
from tests.e2e.fake_providers import RUNPOD_GPUS_PATH, Answer, serve_fake_providers
from tests.e2e.loopback_cases import KINDS, PATHS, SECRET, adapter_of, read, recorded, refused, serve


@pytest.fixture(autouse=True)
def _no_waiting():
    """Two tries without a pause between them."""
    stamina.set_testing(True, attempts=2)
    yield
    stamina.set_testing(False)


@pytest.fixture
def fakes():
    with serve_fake_providers() as running:
        yield running


@pytest.fixture(scope="module")
def http():
    with make_client() as client:
        yield client


def test_vasts_documented_object_instead_of_a_list_is_refused(fakes, http, shared_data):
    serve(fakes, "vast", Answer(body=recorded(shared_data, "vast/search_offers_docs_example_object_not_list.json")))
    assert isinstance(refused(fakes, http, "vast"), ProviderPayloadInvalid)


@pytest.mark.parametrize(
    ("schema", "status", "error"),
    [
        ("ApiErrorUnauthorized", 401, ProviderCredentials),
        ("ApiErrorAccountInactive", 403, ProviderCredentials),
        ("ApiErrorAccountInactive", 400, ProviderCredentials),
        ("ApiErrorInvalidParameters", 400, ProviderPayloadInvalid),
        ("ApiErrorNotFound", 404, ProviderPayloadInvalid),
        ("ApiErrorInternal", 500, ProviderUnavailable),
        ("ApiErrorInsufficientCapacity", 400, ProviderPayloadInvalid),
        ("ApiErrorQuotaExceeded", 200, ProviderPayloadInvalid),
    ],
)
def test_lambdas_error_bodies(fakes, http, shared_data, schema, status, error):
    serve(fakes, "lambda", Answer(status, recorded(shared_data, "lambda/error_bodies_openapi_defaults.json")[schema]))
    assert type(refused(fakes, http, "lambda")) is error


def test_runpods_problem_bodies(fakes, http, shared_data):
    expected = {401: ProviderCredentials, 403: ProviderCredentials, 429: ProviderRateLimited}
    bodies = recorded(shared_data, "runpod/rest_v2_error_bodies_openapi_examples.json")
    assert {body["status"] for body in bodies.values()} == {400, 401, 403, 404, 405, 422, 429}
    for body in bodies.values():
        serve(fakes, "runpod-rest", Answer(body["status"], body, {"Content-Type": "application/problem+json"}))
        assert type(refused(fakes, http, "runpod-rest")) is expected.get(body["status"], ProviderPayloadInvalid)


def test_vasts_error_bodies(fakes, http, shared_data):
    bodies = recorded(shared_data, "vast/error_bodies_docs.json")
    for text in [*bodies["429_plain_text_bodies"], bodies["429_json_detail"]]:
        serve(fakes, "vast", Answer(429, text, {"Content-Type": "text/plain"}))
        assert type(refused(fakes, http, "vast")) is ProviderRateLimited
    for status, body, error in [
        (400, bodies["400_search"], ProviderPayloadInvalid),
        (400, bodies["generic_shape"], ProviderPayloadInvalid),
        (200, bodies["generic_shape"], ProviderPayloadInvalid),
        (404, "Invalid user key", ProviderCredentials),
        (404, {"success": False, "error": "not_found", "msg": "Invalid user key"}, ProviderCredentials),
        (404, "<html>not here</html>", ProviderPayloadInvalid),
        (502, "<html>bad gateway</html>", ProviderUnavailable),
        (503, "", ProviderUnavailable),
    ]:
        serve(fakes, "vast", Answer(status, body))
        assert type(refused(fakes, http, "vast")) is error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(401, {}), ProviderCredentials),
        (Answer(403, "no"), ProviderCredentials),
        (Answer(404, "gone"), ProviderPayloadInvalid),
        (Answer(422, {"title": "no"}), ProviderPayloadInvalid),
        (Answer(200, "<html><body>maintenance</body></html>", {"Content-Type": "text/html"}), ProviderPayloadInvalid),
        (Answer(200, '{"data": {"gpu_1x_a10": {"instance_'), ProviderPayloadInvalid),
        (Answer(200, b"\xff\xfe\x00{"), ProviderPayloadInvalid),
        (Answer(200, ""), ProviderPayloadInvalid),
        (Answer(200, "[" * 100_000), ProviderPayloadInvalid),
        (Answer(200, {"data": {}, "offers": [], "gpus": [], "dataCenters": []}), ProviderPayloadInvalid),
        (Answer(200, []), ProviderPayloadInvalid),
        (Answer(200, {"data": "x", "offers": {"id": 1}, "gpus": {"id": 1}, "dataCenters": {}}), ProviderPayloadInvalid),
        (Answer(500, {"error": SECRET}), ProviderUnavailable),
        (Answer(200, '{"data": {}', {"Content-Length": "5000"}), ProviderUnavailable),
        (Answer(200, "{}", {"Content-Length": "200000000"}), ProviderPayloadTooLarge),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else f"{value.status}-{str(value.body)[:20]}",
)
def test_no_answer_that_is_not_a_catalogue_passes(fakes, http, kind, answer, error):
    serve(fakes, kind, answer)
    assert type(refused(fakes, http, kind)) is error


def test_a_200_with_errors_is_a_failure_although_data_is_there(fakes, http, shared_data):
    body = recorded(shared_data, "runpod/graphql_gpu_types_datacenters_2026-08-15.json")
    serve(fakes, "runpod-graphql", Answer(body={**body, "errors": [{"message": f"no {SECRET}"}]}))
    assert type(refused(fakes, http, "runpod-graphql")) is ProviderPayloadInvalid


def test_a_body_is_counted_after_it_is_unpacked(fakes, http):
    bomb = gzip.compress(b" " * 101_000_000, compresslevel=1)
    assert len(bomb) < 1_000_000
    serve(fakes, "vast", Answer(200, bomb, {"Content-Encoding": "gzip"}))
    assert type(refused(fakes, http, "vast")) is ProviderPayloadTooLarge


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_requests_is_tried_again_and_then_told_with_the_wait(fakes, http, kind):
    serve(fakes, kind, Answer(429, "API requests too frequent", {"Retry-After": "7", "Content-Type": "text/plain"}))
    error = refused(fakes, http, kind)
    assert type(error) is ProviderRateLimited
    assert error.retry_after == timedelta(seconds=7)
    assert len(fakes.seen) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "error"), [(429, ProviderRateLimited), (503, ProviderUnavailable), (408, ProviderUnavailable)]
)
def test_a_refusal_for_now_without_a_word_of_when_is_tried_again_and_told(fakes, http, kind, status, error):
    serve(fakes, kind, Answer(status, f"not now {SECRET}"))
    caught = refused(fakes, http, kind)
    assert type(caught) is error
    assert caught.retry_after is None
    assert len(fakes.seen) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", [httpx.ReadTimeout, httpx.ConnectTimeout, httpx.ConnectError, httpx.RemoteProtocolError])
def test_silence_is_an_outage_and_holds_no_secret(fakes, kind, fault):
    def fail(request):
        raise fault("no answer", request=request)

    with make_client(transport=httpx.MockTransport(fail)) as silent:
        assert type(refused(fakes, silent, kind)) is ProviderUnavailable


def test_every_adapter_that_reads_over_the_network_is_refused_here_or_in_the_tests_of_aws():
    elsewhere = {"aws", "sagemaker"}  # signed calls and streamed files: test_aws_over_loopback.py, test_sagemaker.py
    local = {"colab", "kaggle", "reference", "price_file"}
    assert {kind.name for kind in ADAPTERS} - elsewhere - local == {kind.partition("-")[0] for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_redirect_to_another_host_is_not_followed_and_carries_no_key_there(fakes, http, kind):
    with serve_fake_providers() as elsewhere:
        serve(fakes, kind, Answer(302, "", {"Location": f"{elsewhere.url}{PATHS[kind][0]}"}))
        assert type(refused(fakes, http, kind)) is ProviderUnavailable
        assert elsewhere.seen == []


def test_one_bad_answer_among_many_fails_the_whole_fetch(fakes, http):
    calls = iter(range(100))

    def sometimes(request):
        return Answer(500, "") if next(calls) >= 5 else Answer(body={"gpus": []})

    fakes.answers[RUNPOD_GPUS_PATH] = sometimes
    assert type(refused(fakes, http, "runpod-rest")) is ProviderUnavailable


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_outage_is_bridged(fakes, http, kind):
    def heal(request):
        fakes.answers.clear()
        return Answer(503, "")

    serve(fakes, kind, heal)
    assert read(adapter_of(kind, fakes), http).offers
