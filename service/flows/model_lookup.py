"""Model lookup: the config.json of a Hugging Face repository in place of its id, for models that the table does not hold.

Only `config.json` is read, as data: code of a repository is never run. Source: the hub's file URLs,
https://huggingface.co/docs/hub/models-downloading, read 2026-08-20.
"""

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar
from urllib.parse import urljoin, urlsplit

from pydantic import SecretStr

from providers.errors import InvalidInput, ProviderPayloadInvalid, ProviderPayloadTooLarge, ProviderUnavailable, UnknownModel
from service.domain.workload import Workload
from service.estimate.model_config import NESTED_CONFIGS
from service.estimate.models import find_model
from service.model_settings import HuggingFaceSettings

if TYPE_CHECKING:  # a command whose model is in the table makes no client
    import httpx

HOST: Final = "https://huggingface.co"
NAME: Final = "huggingface"
LARGEST_BYTES: Final = 1_000_000
SECONDS: Final = 10.0
REDIRECTS: Final = 3  # to the same host only
REMEMBERED: Final = 256
LONGEST_LIST: Final = 512  # one word per layer
POINTER: Final = "/workload/model"
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_REPOSITORY = re.compile(rf"{_PART}/{_PART}")


class ModelGated(InvalidInput):
    """The repository is there and its files are only for those who accepted its terms."""

    code = "model-gated"


class Asked(Protocol):
    """A request with a workload."""

    @property
    def workload(self) -> Workload:
        """What is computed."""

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with other fields."""


A = TypeVar("A", bound=Asked)


class ModelLookup:
    """Reads configurations of repositories and remembers them. Safe to call from several threads."""

    def __init__(self, http: "httpx.Client", *, token: SecretStr | None = None, base_url: str = HOST) -> None:
        self._http = http
        self._token = token
        self._base_url = base_url
        self._known: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def resolved(self, asked: A) -> A:
        """The request with the repository's configuration as its model.

        Raises:
            UnknownModel: there is no such repository, or it holds no config.json.
            ModelGated: its files are not for everybody, and the token (or its absence) does not open them.
            ProviderError: the host cannot be reached, or answers what is no configuration.
        """
        name = repository_of(asked.workload)
        if name is None:
            return asked
        workload = asked.workload.model_copy(update={"model": self.config(name)})
        return asked.model_copy(update={"workload": workload})

    def config(self, repository: str) -> dict[str, Any]:
        """The content of the repository's config.json; raises as `resolved`."""
        with self._lock:
            if (known := self._known.get(repository)) is not None:
                self._known.move_to_end(repository)
                return known
        config = _config(self._fetch(f"{self._base_url}/{repository}/resolve/main/config.json"))
        config = _sizes(config) | {"_name_or_path": repository}
        with self._lock:
            self._known[repository] = config
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return config

    def _fetch(self, url: str) -> bytes:
        import httpx

        host = urlsplit(url).netloc
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        try:
            for _ in range(REDIRECTS + 1):
                with self._http.stream("GET", url, headers=headers, timeout=SECONDS, follow_redirects=False) as answer:
                    if not answer.is_redirect:
                        _refuse(answer)
                        return _body(answer)
                    url = urljoin(url, answer.headers.get("Location", ""))
                if urlsplit(url).netloc != host:
                    raise ProviderPayloadInvalid(NAME, "the answer leads to another host")
        except httpx.HTTPError as error:
            raise ProviderUnavailable(NAME, f"no answer ({type(error).__name__})") from None
        raise ProviderPayloadInvalid(NAME, "the answer leads from page to page")


def model_lookup(settings: HuggingFaceSettings, http: "httpx.Client") -> ModelLookup | None:
    """The lookup that the settings allow; None while they allow none."""
    return ModelLookup(http, token=settings.token) if settings.enabled else None


def resolved_once(asked: A, settings: HuggingFaceSettings) -> A:
    """The request of one command; a client is made only where a repository has to be read. Raises as `resolved`."""
    if not settings.enabled or repository_of(asked.workload) is None:
        return asked
    import httpx

    with httpx.Client() as http:
        return ModelLookup(http, token=settings.token).resolved(asked)


def repository_of(workload: Workload) -> str | None:
    """The repository to look up: a model that has the form of one and is not in the table. None: nothing to look up."""
    name = workload.model
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name.strip()) or ".." in name:
        return None
    try:
        find_model(name)
    except UnknownModel:
        return name.strip()
    return None


def _refuse(answer: "httpx.Response") -> None:
    """Turns what is no success into its error. The hub answers 401 for what does not exist as for what is private."""
    if answer.is_success:
        return
    said = answer.headers.get("X-Error-Code", "")
    if said == "GatedRepo" or (answer.status_code in (401, 403) and said != "RepoNotFound"):
        raise ModelGated(
            "the repository is gated or private: accept its terms there and set GPUPLAN_HUGGINGFACE__TOKEN, "
            "or give its config.json",
            pointer=POINTER,
        )
    if answer.status_code in (401, 404):
        why = "the repository holds no config.json" if said == "EntryNotFound" else "no such repository can be read"
        raise UnknownModel(why, pointer=POINTER)
    raise ProviderUnavailable(NAME, f"status {answer.status_code}")


def _body(answer: "httpx.Response") -> bytes:
    content = b""
    for chunk in answer.iter_bytes():
        content += chunk
        if len(content) > LARGEST_BYTES:
            raise ProviderPayloadTooLarge(NAME, f"the configuration is over {LARGEST_BYTES} bytes")
    return content


def _config(content: bytes) -> dict[str, Any]:
    try:
        config = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderPayloadInvalid(NAME, "the configuration is not JSON") from error
    if not isinstance(config, dict):
        raise ProviderPayloadInvalid(NAME, "the configuration is no JSON object")
    return config


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    """What can state a size: plain values, short lists, and the parts of multimodal models; label maps and code are left."""
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if key in NESTED_CONFIGS and isinstance(value, Mapping):
            kept[key] = _sizes(value)
        elif value is None or isinstance(value, str | int | float) or (isinstance(value, list) and len(value) <= LONGEST_LIST):
            kept[key] = value
    return kept
