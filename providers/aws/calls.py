"""Signed AWS calls: clients with time-outs and adaptive retries, all pages of an answer, and errors in our words.

boto3 takes half a second to import: it is imported where a client is made, since most services never make one.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from providers.base import Json
from providers.errors import (
    ProviderCredentials,
    ProviderError,
    ProviderPayloadInvalid,
    ProviderRateLimited,
    ProviderUnavailable,
)

PROVIDER = "aws"
CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 60
MAX_ATTEMPTS = 4
MAX_PAGES = 2000  # far above any real answer: a server that never ends its pages is a fault

CREDENTIAL_CODES = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
THROTTLE_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)

ClientFactory = Callable[[str, str], Any]  # (service, region) -> a boto3 client; boto3 ships no types


def client_factory(
    *,
    access_key_id: SecretStr | None,
    secret_access_key: SecretStr | None,
    session_token: SecretStr | None,
    endpoint_url: str | None,
    max_attempts: int = MAX_ATTEMPTS,
) -> ClientFactory:
    """Clients of one session of its own. With no keys at all the session uses the machine's own role or profile."""

    import boto3
    from botocore.config import Config

    def plain(secret: SecretStr | None) -> str | None:
        return secret.get_secret_value() if secret else None

    session = boto3.session.Session(
        aws_access_key_id=plain(access_key_id),
        aws_secret_access_key=plain(secret_access_key),
        aws_session_token=plain(session_token),
    )
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "adaptive", "total_max_attempts": max_attempts},
        ignore_configured_endpoint_urls=True,  # only our own setting may send signed calls elsewhere
        user_agent_extra="gpu-cost-optimizer",
    )

    def client(service: str, region: str) -> Any:
        return session.client(service, region_name=region, endpoint_url=endpoint_url, config=config)

    return client


@contextmanager
def closing_client(make_client: ClientFactory, service: str, region: str, *, provider: str = PROVIDER) -> Iterator[Any]:
    """A client that gives its connections back at the end."""
    with our_errors(f"{service} client for {region}", provider=provider):
        client = make_client(service, region)
    try:
        yield client
    finally:
        client.close()


def pages(
    call: Callable[..., Json], key: str, *, provider: str = PROVIDER, page_key: str = "NextToken", **parameters: Any
) -> Iterator[Json]:
    """Every member under `key` of all pages. A page may be empty and still name a next one; "" ends the pages.

    Raises:
        ProviderPayloadInvalid: a token comes twice in a row, or the pages do not end.
    """
    token: str | None = None
    for _ in range(MAX_PAGES):
        answer = call(**parameters, **{page_key: token}) if token else call(**parameters)
        yield from answer.get(key) or ()
        last, token = token, answer.get(page_key)
        if not token:
            return
        if token == last:
            break
    raise ProviderPayloadInvalid(provider, f"the pages of {key} do not end")


@contextmanager
def our_errors(where: str, *, provider: str = PROVIDER) -> Iterator[None]:
    """Turns what boto3 raises into a ProviderError that says where, with the service's code and nothing else of it."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        raise _from_code(provider, where, str(error.response.get("Error", {}).get("Code", ""))) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise ProviderCredentials(provider, f"{where}: no complete credentials found") from error
    except ResponseParserError as error:
        raise ProviderPayloadInvalid(provider, f"{where}: the answer is not what AWS documents") from error
    except BotoCoreError as error:
        raise ProviderUnavailable(provider, f"{where}: {type(error).__name__}") from error


def _from_code(provider: str, where: str, code: str) -> ProviderError:
    shown = code if re.fullmatch(r"[A-Za-z0-9.]{1,64}", code) else "unreadable error code"
    code = code.removeprefix("Client.").removeprefix("Server.")
    if code in CREDENTIAL_CODES:
        return ProviderCredentials(provider, f"{where}: {shown}")
    if code in THROTTLE_CODES:
        return ProviderRateLimited(provider, f"{where}: {shown}")
    return ProviderUnavailable(provider, f"{where}: {shown}")
