"""What providers' codes, types and statuses mean, as data.

A word is compared without case and punctuation, so that `rate_limit_error`, `RateLimitError` and `RATE-LIMIT-ERROR` are
one. The more exact word wins: the code, then the type, then the status.

Sources: the error pages of OpenAI, Anthropic, Google (google.rpc.Code), AWS Bedrock, Cohere, Mistral, Databricks and
OpenRouter; the class names are those that LiteLLM and vLLM put on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rxstream.errors import Category

__all__ = (
    "NEVER_RETRY",
    "RETRYABLE",
    "SENTENCES",
    "category_of_status",
    "category_of_word",
    "comparable",
    "names_status",
)

_WORDS: Final[dict[Category, str]] = {
    "invalid_request": """
        invalid_request_error invalid_request bad_request_error bad_request invalid_argument invalid_parameter
        invalid_parameter_value failed_precondition out_of_range unprocessable_entity_error unprocessable_entity
        validation_exception validation_error unsupported_params_error tool_use_failed json_validate_failed
        invalid_prompt content_policy_violation content_policy_violation_error content_filter data_inspection_failed
        unknown_parameter missing_required_parameter unsupported_parameter unsupported_value model_decommissioned
        malformed_request bad_request_exception""",
    "authentication": """
        authentication_error unauthenticated unauthorized unauthorized_error invalid_api_key invalid_authentication
        incorrect_api_key unrecognized_client_exception expired_token_exception invalid_signature_exception
        missing_authentication_token_exception api_key_invalid""",
    "permission": """
        permission_error permission_denied permission_denied_error access_denied access_denied_exception forbidden
        forbidden_error billing_error billing_hard_limit_reached insufficient_balance insufficient_credits
        payment_required arrearage account_deactivated unsupported_country_region_territory model_not_allowed""",
    "not_found": """
        not_found_error not_found model_not_found deployment_not_found resource_not_found_exception
        resource_does_not_exist endpoint_not_found""",
    "too_large": """
        request_too_large context_length_exceeded context_window_exceeded context_window_exceeded_error
        string_above_max_length max_tokens_exceeded request_entity_too_large payload_too_large
        exceed_context_size_error""",
    "rate_limited": """
        rate_limit_error rate_limit_exceeded rate_limit_reached rate_limit_reached_error rate_limited too_many_requests
        requests tokens resource_exhausted throttling_exception throttling throttling_rate_quota request_limit_exceeded
        service_quota_exceeded_exception insufficient_quota quota_exceeded tokens_exceeded_error
        limit_requests""",
    "overloaded": """
        overloaded_error overloaded engine_overloaded engine_overloaded_error unavailable service_unavailable
        service_unavailable_error service_unavailable_exception temporarily_unavailable model_not_ready_exception
        capacity_exceeded no_capacity server_busy""",
    "timeout": """
        timeout timeout_error request_timeout api_timeout_error deadline_exceeded model_timeout_exception
        gateway_timeout""",
    "provider": """
        server_error api_error internal internal_error internal_server_error internal_server_exception internal_failure
        model_error model_error_exception model_stream_error_exception api_connection_error unknown aborted data_loss
        provider_unavailable upstream_error bad_gateway cancelled""",
}

_CATEGORIES: Final[Mapping[str, Category]] = MappingProxyType(
    {re.sub("[^a-z0-9]", "", word): category for category, words in _WORDS.items() for word in words.split()}
)

_STATUSES: Final[Mapping[int, Category]] = MappingProxyType(
    {
        400: "invalid_request",
        401: "authentication",
        402: "permission",
        403: "permission",
        404: "not_found",
        405: "invalid_request",
        406: "invalid_request",
        407: "authentication",
        408: "timeout",
        409: "overloaded",
        410: "not_found",
        413: "too_large",
        415: "invalid_request",
        421: "invalid_request",
        422: "invalid_request",
        424: "provider",  # Bedrock: the model failed in the middle of its stream
        425: "overloaded",
        429: "rate_limited",
        498: "overloaded",  # Groq: flex capacity
        502: "overloaded",
        503: "overloaded",
        504: "timeout",
        524: "timeout",  # Cloudflare
        529: "overloaded",  # Anthropic
    }
)

RETRYABLE: Final[frozenset[Category]] = frozenset(("rate_limited", "overloaded", "timeout", "provider", "transport"))
"""Categories where the same request can succeed later."""

NEVER_RETRY: Final = frozenset(("insufficientquota", "quotaexceeded"))
"""Comparable words for a quota that waiting does not give back, although its status is 429."""

SENTENCES: Final[Mapping[Category, str]] = MappingProxyType(
    {
        "invalid_request": "the provider refused the request as invalid",
        "authentication": "the provider refused the credentials",
        "permission": "the provider does not permit this request",
        "not_found": "the provider does not know the model or address",
        "too_large": "the request is too large for the provider or the model",
        "rate_limited": "the provider's rate limit or quota is used up",
        "overloaded": "the provider is overloaded or unavailable",
        "timeout": "the provider gave up waiting",
        "provider": "the provider failed",
    }
)
"""What is said of a category: never a word of the provider's message, which may hold the prompt."""


def comparable(word: str) -> str:
    """A word without case and punctuation."""
    return re.sub("[^a-z0-9]", "", word.lower())


def category_of_word(word: str | int | None) -> Category | None:
    """What a code or a type means; None where nobody knows."""
    return _CATEGORIES.get(comparable(word)) if isinstance(word, str) else None


def category_of_status(status: int) -> Category:
    """What an HTTP status of 400 or more means."""
    return _STATUSES.get(status, "provider" if status >= 500 else "invalid_request")


def names_status(code: str | int | None) -> int | None:
    """The HTTP error status that a code is, or spells; None for any other code."""
    if isinstance(code, str) and re.fullmatch("[45][0-9][0-9]", code):
        return int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599 else None
