"""Models by repository id, over a socket: what is read and sent, and how each refusal of the hub is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from pydantic import SecretStr

from providers.errors import ProviderError, ProviderPayloadInvalid, ProviderPayloadTooLarge, ProviderUnavailable, UnknownModel
from service.domain.estimation import EstimateRequest
from service.flows.estimate import make_estimate
from service.flows.model_lookup import HOST, LARGEST_BYTES, ModelGated, ModelLookup, repository_of

ZEBRA = {
    "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 8192, "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": False,
    "auto_map": {"AutoModel": "modeling_zebra.ZebraModel"}, "id2label": {"0": "A"},
}  # fmt: skip
PATH = "/zebra-lab/zebra-1b/resolve/main/config.json"


class Hub:
    """Answers by path: (status, headers, body)."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict, bytes]] = {PATH: (200, {}, json.dumps(ZEBRA).encode())}
        self.seen: list[tuple[str, dict]] = []


@pytest.fixture
def hub():
    fake = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            fake.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = fake.answers.get(self.path, (404, {"X-Error-Code": "RepoNotFound"}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    yield fake
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def http():
    with httpx.Client() as client:
        yield client


def request(model: str = "zebra-lab/zebra-1b") -> EstimateRequest:
    body = {"workload": {"model": model, "technique": "lora", "tokens": 1e6}, "gpus": ["H100 SXM"]}
    return EstimateRequest.model_validate_json(json.dumps(body))


def test_a_repository_is_estimated_from_its_configuration(hub, http):
    lookup = ModelLookup(http, base_url=hub.url)
    answer = make_estimate(lookup.resolved(request()))
    assert answer.requirement.model == "zebra-lab/zebra-1b"
    # 16 x (2 x 2048 x 2048 + 2 x 2048 x 512 + 3 x 2048 x 8192) + 2 x 32000 x 2048 = 1.104e9 parameters
    counted = next(one.value for one in answer.assumptions if one.name == "params_total_b")
    assert counted == pytest.approx(1.104, abs=0.005)
    lookup.resolved(request())
    assert [path for path, _ in hub.seen] == [PATH]  # read once, and nothing else of the repository


def test_only_sizes_are_kept_and_code_is_left_alone(hub, http):
    config = ModelLookup(http, base_url=hub.url).config("zebra-lab/zebra-1b")
    assert config["hidden_size"] == 2048
    assert not {"auto_map", "id2label"} & config.keys()


def test_a_token_is_sent_where_one_is_set_and_never_shown(hub, http):
    ModelLookup(http, base_url=hub.url).config("zebra-lab/zebra-1b")
    ModelLookup(http, base_url=hub.url, token=SecretStr("hf_secret")).config("zebra-lab/zebra-1b")
    assert [headers.get("authorization") for _, headers in hub.seen] == [None, "Bearer hf_secret"]
    hub.answers[PATH] = (500, {}, b"hf_secret")
    with pytest.raises(ProviderUnavailable) as refused:
        ModelLookup(http, base_url=hub.url, token=SecretStr("hf_secret")).config("zebra-lab/zebra-1b")
    assert "hf_secret" not in str(refused.value)


def test_a_redirect_on_the_same_host_is_followed_and_to_another_refused(hub, http):
    hub.answers[PATH] = (307, {"Location": "/cache/config.json"}, b"")
    hub.answers["/cache/config.json"] = (200, {}, json.dumps(ZEBRA).encode())
    assert ModelLookup(http, base_url=hub.url).config("zebra-lab/zebra-1b")["hidden_size"] == 2048
    hub.answers[PATH] = (307, {"Location": "http://127.0.0.2:1/steal"}, b"")
    with pytest.raises(ProviderPayloadInvalid, match="another host"):
        ModelLookup(http, base_url=hub.url, token=SecretStr("hf_secret")).config("zebra-lab/zebra-1b")
    hub.answers[PATH] = (307, {"Location": PATH}, b"")
    with pytest.raises(ProviderPayloadInvalid, match="page to page"):
        ModelLookup(http, base_url=hub.url).config("zebra-lab/zebra-1b")


@pytest.mark.parametrize(
    ("status", "said", "error", "told"),
    [
        (401, "GatedRepo", ModelGated, "GPUPLAN_HUGGINGFACE__TOKEN"),
        (403, "GatedRepo", ModelGated, "accept its terms"),
        (403, "", ModelGated, "gated or private"),
        (401, "RepoNotFound", UnknownModel, "no such repository"),
        (404, "RepoNotFound", UnknownModel, "no such repository"),
        (404, "EntryNotFound", UnknownModel, "no config.json"),
        (429, "", ProviderUnavailable, "status 429"),
        (503, "", ProviderUnavailable, "status 503"),
    ],
)
def test_each_refusal_of_the_hub_is_told(hub, http, status, said, error, told):
    hub.answers[PATH] = (status, {"X-Error-Code": said} if said else {}, b"<html>")
    with pytest.raises(error, match=told) as refused:
        ModelLookup(http, base_url=hub.url).resolved(request())
    if not isinstance(refused.value, ProviderError):
        assert refused.value.pointer == "/workload/model"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"<html>", ProviderPayloadInvalid),
        (b"[1, 2]", ProviderPayloadInvalid),
        (b"[" * 100_000, ProviderPayloadInvalid),
        (b"\xff\xfe", ProviderPayloadInvalid),
        (b" " * (LARGEST_BYTES + 1), ProviderPayloadTooLarge),
    ],
)
def test_what_is_no_configuration_is_refused(hub, http, body, error):
    hub.answers[PATH] = (200, {}, body)
    with pytest.raises(error):
        ModelLookup(http, base_url=hub.url).config("zebra-lab/zebra-1b")


def test_a_host_that_does_not_answer_is_a_provider_error(http):
    with pytest.raises(ProviderUnavailable, match="ConnectError"):
        ModelLookup(http, base_url="http://127.0.0.1:9").config("zebra-lab/zebra-1b")


@pytest.mark.parametrize(
    ("model", "repository"),
    [
        ("zebra-lab/zebra-1b", "zebra-lab/zebra-1b"),
        ("meta-llama/Llama-3.1-8B", None),  # the table has it
        ("zebra-1b", None),
        ("a/b/c", None),
        ("../../etc/passwd", None),
        ("a/..", None),
        ("zebra lab/zebra", None),
        ("http://evil/x", None),
        ("zebra-lab/zebra?x=1", None),
    ],
)
def test_only_an_unknown_name_of_the_right_form_is_looked_up(model, repository):
    assert repository_of(request(model).workload) == repository


def test_the_host_is_fixed():
    assert HOST == "https://huggingface.co"
