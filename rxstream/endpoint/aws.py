"""Requests that are signed by AWS's Signature Version 4, where there is no key to send instead.

The signature holds the time and the body, so it is made when a request is sent, and anew for each. It is botocore's,
which is imported only here; botocore also finds the credentials where AWS's other tools find them. To load them anew
when they expire it may ask a service on this machine's network, which the loop then waits for.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

from rxstream.endpoint.address import Address
from rxstream.errors import RequestError
from rxstream.providers.service import Service

__all__ = ("AWSSigner", "find_signer")

KEY_ID: Final = "AWS_ACCESS_KEY_ID"
SECRET: Final = "AWS_SECRET_ACCESS_KEY"
TOKEN: Final = "AWS_SESSION_TOKEN"
PROFILE: Final = "AWS_PROFILE"

AWS_HOST: Final = re.compile(r"(?:.+\.)?(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?")
"""A host of AWS, which takes nothing that is not signed, and the region in its name."""


class AWSSigner:
    """Signs requests. Clients with httpx's interface call it as their `auth`, with each request before it is sent.

    Args:
        credentials: botocore's; they may load themselves anew.
        service: what AWS calls the service.
        region: where it is.
    """

    __slots__ = ("_credentials", "_region", "_service")

    def __init__(self, credentials: Any, service: str, region: str) -> None:
        self._credentials = credentials
        self._service = service
        self._region = region

    def __call__(self, request: Any) -> Any:
        """Add the headers of the signature to a request whose body is bytes."""
        auth, awsrequest = _botocore("auth"), _botocore("awsrequest")
        # Only what belongs to the request: what a client or a proxy adds to the rest breaks no signature.
        signed = awsrequest.AWSRequest(
            method=request.method,
            url=str(request.url),
            data=request.content,
            headers={"content-type": request.headers.get("content-type", "")},
        )
        auth.SigV4Auth(self._fresh_credentials(), self._service, self._region).add_auth(signed)
        request.headers.update(signed.headers.items())
        return request

    def _fresh_credentials(self) -> Any:
        failure: Exception | None = None
        try:
            return self._credentials.get_frozen_credentials()
        except _botocore("exceptions").BotoCoreError as error:
            failure = error
        raise _not_loaded(failure)


def find_signer(provider: str, service: Service, address: Address, environ: Mapping[str, str]) -> AWSSigner | None:
    """What signs requests; None where the service signs none, or where the address asks for none.

    Credentials are asked for at AWS's own hosts. Elsewhere (a proxy, a test) they are taken where the environment names
    them.

    Args:
        provider: who is asked, for the error.
        service: its row.
        address: where it is.
        environ: the environment. Its key wins; without one, botocore looks everywhere else.

    Raises:
        RequestError: there are no credentials, or no botocore to sign with.
    """
    host = AWS_HOST.fullmatch(address.host)
    if service.signs_as is None or not (host or environ.get(KEY_ID) or environ.get(PROFILE)):
        return None
    credentials = _credentials(environ)
    if credentials is None:
        names = " or ".join(key.variable for key in service.keys)
        ways = f"set {names}, or AWS credentials ({KEY_ID}, {PROFILE}, ...), or pass api_key=..."
        raise RequestError(f"there is no key for {provider!r}: {ways}", category="authentication")
    return AWSSigner(credentials, service.signs_as, _region(provider, host, service, environ))


def _region(provider: str, host: re.Match[str] | None, service: Service, environ: Mapping[str, str]) -> str:
    if host is not None:
        return host["region"]
    variables = service.places["region"]
    region = next((value for name in variables if (value := environ.get(name, "").strip())), None)
    if region is None:
        raise RequestError(f"the region of {provider!r} is not known: set {' or '.join(variables)}")
    return region


def _credentials(environ: Mapping[str, str]) -> Any:
    """The credentials; None where there are none."""
    key_id, secret = environ.get(KEY_ID, "").strip(), environ.get(SECRET, "").strip()
    if key_id and secret:
        return _botocore("credentials").Credentials(key_id, secret, environ.get(TOKEN, "").strip() or None)
    session, exceptions = _botocore("session"), _botocore("exceptions")
    failure: Exception | None = None
    try:
        found = session.Session(profile=environ.get(PROFILE, "").strip() or None)
        # Its view of the environment is the process's; ours was asked above.
        found.get_component("credential_provider").remove("env")
        return found.get_credentials()
    except exceptions.BotoCoreError as error:
        failure = error
    raise _not_loaded(failure)


def _not_loaded(failure: Exception | None) -> RequestError:
    problem = "botocore cannot load AWS credentials; its reason is kept as the error's detail"
    return RequestError(problem, category="authentication", detail=failure)


def _botocore(module: str) -> Any:
    try:
        return importlib.import_module(f"botocore.{module}")
    except ModuleNotFoundError:
        pass
    raise RequestError(
        "to sign requests to AWS needs botocore: pip install 'rxstream[bedrock]'; "
        "a key of Bedrock's own (AWS_BEARER_TOKEN_BEDROCK) needs none",
        category="authentication",
    )
