"""Requests that are signed for AWS: who signs, with what, and that AWS would accept it."""

from __future__ import annotations

import hashlib
import hmac
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import rxstream as rxs
from rxstream.errors import RequestError
from rxstream.testing import answer, run
from rxstream.testing.record import Request
from tests.endpoint.kit import NoClient, asking_with
from tests.sources.http_streams import both_clients

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "eu-central-1"}
MODEL = "us.anthropic.claude-4:0"
QUESTION = rxs.ModelRequest.of("why?", model=MODEL)


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """botocore finds no files of this machine and asks nobody on its network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def connected(environ: dict[str, str], **options: Any) -> rxs.Endpoint:
    return rxs.connect("bedrock-converse", client=NoClient(), environ=environ, **options)


def signature_of(request: Request, region: str) -> str:
    """The signature that AWS computes of a request as it arrived, by its documentation of Signature Version 4."""
    names = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    path, _, query = request.target.partition("?")
    canonical = "\n".join(
        (
            request.method,
            quote(path, safe="/-_.~"),  # once more than it is: for every service but S3
            query,
            *(f"{name}:{request.headers[name].strip()}" for name in names.split(";")),
            "",
            names,
            hashlib.sha256(request.body).hexdigest(),
        )
    )
    time = request.headers["x-amz-date"]
    scope = f"{time[:8]}/{region}/bedrock/aws4_request"
    key = f"AWS4{SECRET}".encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    text = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@both_clients
@pytest.mark.parametrize("token", [None, "session"])
def test_a_request_is_signed_as_aws_reads_it(http: ModuleType, token: str | None) -> None:
    async def scenario() -> None:
        environ = KEYS | ({"AWS_SESSION_TOKEN": token} if token else {})
        async with asking_with(http, answer("a", wire="bedrock-converse"), "bedrock-converse", environ) as asked:
            provider, endpoint = asked
            response = await rxs.collect(endpoint.stream(QUESTION))
            assert (response.outcome, response.text) == ("completed", "a")
            request = (await provider.request()).request
            authorization = request.headers["authorization"]
            assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
            assert authorization.endswith(f"Signature={signature_of(request, 'eu-central-1')}")
            assert request.headers.get("x-amz-security-token") == token
            names = ("content-type", "host", "x-amz-date", *(["x-amz-security-token"] if token else []))
            assert f"SignedHeaders={';'.join(names)}," in authorization
            assert request.target == "/model/us.anthropic.claude-4%3A0/converse-stream"

    run(scenario())


@both_clients
def test_each_subscription_is_signed_anew(http: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature is good for five minutes; an observable may be subscribed to later than that."""
    import botocore.auth

    times = iter(("20300101T000000Z", "20300101T010000Z"))
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: _Clock(next(times)))

    async def scenario() -> None:
        replies = answer("a", wire="bedrock-converse")
        async with asking_with(http, replies, "bedrock-converse", KEYS) as (provider, endpoint):
            events = endpoint.stream(QUESTION)
            await rxs.collect(events)
            await rxs.collect(events)
            first, second = [record.request for record in provider.requests]
            for request, time in ((first, "20300101T000000Z"), (second, "20300101T010000Z")):
                assert request.headers["x-amz-date"] == time
                assert request.headers["authorization"].endswith(signature_of(request, "eu-central-1"))

    run(scenario())


def unsigned() -> httpx.Request:
    url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"
    return httpx.Request("POST", url, content=b"{}", headers={"content-type": "application/json"})


class _Clock:
    def __init__(self, text: str) -> None:
        self._text = text

    def strftime(self, form: str) -> str:
        return self._text if "T" in form else self._text[:8]


@both_clients
def test_a_key_of_bedrocks_own_is_sent_and_nothing_is_signed(http: ModuleType) -> None:
    async def scenario() -> None:
        environ = KEYS | {"AWS_BEARER_TOKEN_BEDROCK": "b"}
        for options, header in (({}, "Bearer b"), ({"api_key": "k"}, "Bearer k"), ({"api_key": ""}, None)):
            reply = answer("a", wire="bedrock-converse")
            async with asking_with(http, reply, "bedrock-converse", environ, **options) as (provider, endpoint):
                await rxs.collect(endpoint.stream(QUESTION))
                request = (await provider.request()).request
                assert request.headers.get("authorization") == header
                assert "x-amz-date" not in request.headers

    run(scenario())


@both_clients
def test_a_server_that_is_not_aws_is_asked_without_a_signature_where_nobody_has_keys(http: ModuleType) -> None:
    async def scenario() -> None:
        async with asking_with(http, answer("a", wire="bedrock-converse"), "bedrock-converse", {}) as asked:
            provider, endpoint = asked
            assert (await rxs.collect(endpoint.stream(QUESTION))).text == "a"
            assert "authorization" not in (await provider.request()).request.headers

    run(scenario())


def test_credentials_of_a_profile_are_found_by_botocore(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(f"[team]\naws_access_key_id = AKIDTEAM\naws_secret_access_key = {SECRET}\n")
    endpoint = connected({"AWS_PROFILE": "team", "AWS_DEFAULT_REGION": "eu-west-1"})
    request = unsigned()
    assert endpoint._auth is not None
    endpoint._auth(request)
    assert "Credential=AKIDTEAM/" in request.headers["authorization"]
    assert "/eu-west-1/bedrock/" in request.headers["authorization"]


@pytest.mark.parametrize(
    ("base_url", "region"),
    [
        ("https://bedrock-runtime.us-west-2.amazonaws.com", "us-west-2"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("https://vpce-1-abc.bedrock-runtime.ap-south-1.vpce.amazonaws.com/", "ap-south-1"),
        ("http://127.0.0.1:1", "eu-central-1"),
    ],
)
def test_a_host_of_aws_names_its_region(base_url: str, region: str) -> None:
    request = unsigned()
    endpoint = connected(KEYS, base_url=base_url)
    assert endpoint._auth is not None
    endpoint._auth(request)
    assert f"/{region}/bedrock/" in request.headers["authorization"]


def test_aws_without_credentials_is_an_error_that_names_the_variables() -> None:
    with pytest.raises(RequestError, match="set AWS_BEARER_TOKEN_BEDROCK, or AWS credentials") as caught:
        connected({"AWS_REGION": "us-east-1"})
    assert caught.value.public.category == "authentication"
    assert (
        connected({"AWS_REGION": "us-east-1"}, api_key="k").base_url
        == "https://bedrock-runtime.us-east-1.amazonaws.com"
    )


def test_a_profile_that_nobody_has_is_an_error_without_its_reason() -> None:
    with pytest.raises(RequestError, match="botocore cannot load AWS credentials") as caught:
        connected({"AWS_PROFILE": "private-name", "AWS_REGION": "us-east-1"})
    assert "private-name" not in str(caught.value)
    assert caught.value.__context__ is None


def test_credentials_that_cannot_be_loaded_anew_are_a_failed_response() -> None:
    from botocore.exceptions import CredentialRetrievalError

    from rxstream.endpoint.aws import AWSSigner

    class Expired:
        def get_frozen_credentials(self) -> Any:
            raise CredentialRetrievalError(provider="sso", error_msg="private")

    with pytest.raises(RequestError, match="botocore cannot load AWS credentials") as caught:
        AWSSigner(Expired(), "bedrock", "us-east-1")(unsigned())
    assert "private" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_region_is_needed_and_asked_for() -> None:
    with pytest.raises(RequestError, match=r"region of 'bedrock-converse' is not known: set AWS_REGION or AWS_DEFAULT"):
        connected({name: value for name, value in KEYS.items() if name != "AWS_REGION"})
    with pytest.raises(RequestError, match="region of 'bedrock-converse' is not known"):
        keys = {name: value for name, value in KEYS.items() if name != "AWS_REGION"}
        connected(keys, base_url="http://proxy.example")


def test_without_botocore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Missing(), *sys.meta_path])
    with pytest.raises(RequestError, match=r"pip install 'rxstream\[bedrock\]'") as caught:
        connected(KEYS)
    assert caught.value.__context__ is None


class _Missing:
    """A finder for whom botocore is not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] == "botocore":
            raise ModuleNotFoundError(name)


def test_a_secret_is_shown_by_nothing() -> None:
    endpoint = connected(KEYS)
    assert endpoint._auth is not None
    assert SECRET not in repr(endpoint) + repr(endpoint._auth)
