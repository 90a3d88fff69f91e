"""Tokens of an identity provider: only what it signed for us, by an algorithm that was named, and keys read seldom."""

import time

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from service.access_settings import OidcSettings
from service.domain.access import Scope
from service.flows.tokens import TokenVerifier

SETTINGS = OidcSettings(issuer="https://login.example", audience="gpuplan", jwks_url="https://login.example/keys")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


def published(*keys):
    made = []
    for kid, key in keys:
        algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        made.append({**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"})
    return {"keys": made}


class Issuer:
    """Publishes keys, counts how often they are read."""

    def __init__(self):
        self.reads = 0
        self.document = published(("k1", KEY), ("e1", CURVE))
        self.tick = 0.0

    def answer(self, request):
        self.reads += 1
        return httpx.Response(200, json=self.document) if self.document else httpx.Response(500)

    def verifier(self, settings=SETTINGS):
        http = httpx.Client(transport=httpx.MockTransport(self.answer), trust_env=False)
        return TokenVerifier(settings, http, tick=lambda: self.tick)


def token(key=KEY, kid="k1", algorithm="RS256", **claims):
    now = int(time.time())
    told = {"iss": "https://login.example", "aud": "gpuplan", "sub": "ada", "exp": now + 600, "scope": "openid gpuplan:plan"}
    told = {name: value for name, value in {**told, **claims}.items() if value is not None}
    return jwt.encode(told, key, algorithm=algorithm, headers={"kid": kid})


def test_a_good_token_is_its_subject_with_the_widest_scope():
    verifier = Issuer().verifier()
    caller = verifier.verify(token(scope="gpuplan:read gpuplan:plan other:admin"))
    assert (caller.name, caller.scope) == ("oidc:ada", Scope.PLAN)
    assert verifier.verify(token(CURVE, "e1", "ES256", scope=["gpuplan:admin"])).scope is Scope.ADMIN


PUBLIC_AS_SECRET = "x" * 64


@pytest.mark.parametrize(
    "bad",
    [
        token(aud="another"),
        token(aud=None),
        token(iss="https://evil.example"),
        token(iss=None),
        token(exp=int(time.time()) - 3600),
        token(exp=None),
        token(nbf=int(time.time()) + 3600),
        token(sub=None),
        token(scope=None),
        token(scope="admin plan read"),
        token(scope=7),
        token(OTHER),
        token(kid="unknown"),
        token(algorithm="RS512"),
        token(PUBLIC_AS_SECRET, algorithm="HS256"),
        token(None, algorithm="none"),
        token()[:-4],
        "a.b.c",
        "..",
        "x" * 100_000,
    ],
)
def test_everything_else_is_nobody(bad):
    assert Issuer().verifier().verify(bad) is None


def test_a_checked_token_is_known_until_it_ends():
    verifier = Issuer().verifier()
    good = token()
    assert verifier.known(good) is None
    verifier.verify(good)
    assert verifier.known(good).name == "oidc:ada"
    assert verifier.known(good + "x") is None


def test_unknown_keys_make_no_flood_of_reads_and_new_ones_are_found():
    issuer = Issuer()
    verifier = issuer.verifier()
    for _ in range(20):
        verifier.verify(token(kid="unknown"))
    assert issuer.reads == 1
    issuer.document = published(("k1", KEY), ("k2", OTHER))
    issuer.tick = 31.0
    assert verifier.verify(token(OTHER, "k2")) is not None
    assert issuer.reads == 2


def test_keys_at_hand_outlive_an_issuer_that_does_not_answer():
    issuer = Issuer()
    verifier = issuer.verifier()
    assert verifier.verify(token()) is not None
    issuer.document, issuer.tick = None, 10_000.0
    assert verifier.verify(token(jti="another")) is not None
    assert issuer.reads == 2
