"""A rich body of each format: everything that its clients send, once."""

from __future__ import annotations

from typing import Any, Final

SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PIXEL: Final = "data:image/png;base64,aGk="
ADDRESS: Final = "https://images.example/a.png"

CHAT: Final[dict[str, Any]] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": [{"type": "text", "text": "Be kind."}], "name": "rules"},
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
                {"type": "image_url", "image_url": {"url": ADDRESS}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "annotations": [],
            "reasoning_content": "hm",
            "reasoning_details": [{"type": "reasoning.text", "signature": "s", "id": "1"}],
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"id": "c2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sunny", "name": "weather"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "1"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is"}, {"type": "refusal", "refusal": "no"}]},
        {"role": "user", "content": "and?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Of a city.", "parameters": SCHEMA, "strict": True},
        }
    ],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "report", "schema": SCHEMA, "description": "A report.", "strict": True},
    },
    "max_completion_tokens": 9,
    "stop": ["END"],
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 3,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.2,
    "seed": 7,
    "parallel_tool_calls": False,
    "reasoning_effort": "low",
    "stream": True,
    "stream_options": {"include_usage": True, "include_obfuscation": False},
    "user": "u",
    "n": 1,
}

RESPONSES: Final[dict[str, Any]] = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "developer", "content": "Be kind."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "e",
            "status": "completed",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "It is", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "weather",
            "arguments": '{"city":"Oslo"}',
            "status": "completed",
        },
        {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "1"}, {"type": "input_image", "image_url": ADDRESS}],
        },
        {"role": "user", "content": "and?"},
    ],
    "tools": [{"type": "function", "name": "weather", "description": "d", "parameters": SCHEMA, "strict": False}],
    "tool_choice": {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "weather"}],
    },
    "text": {
        "format": {"type": "json_schema", "name": "report", "schema": SCHEMA, "strict": True},
        "verbosity": "medium",
    },
    "max_output_tokens": 9,
    "temperature": 0.5,
    "top_p": 0.9,
    "parallel_tool_calls": True,
    "reasoning": {"effort": "high", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "store": False,
    "stream": True,
    "background": False,
}

ANTHROPIC: Final[dict[str, Any]] = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                {"type": "image", "source": {"type": "url", "url": ADDRESS}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "r"},
                {"type": "text", "text": "It is", "citations": None},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "is_error": True,
                    "content": [
                        {"type": "text", "text": "broken"},
                        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
                    ],
                },
                {"type": "text", "text": "and?", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
    "tools": [{"name": "weather", "description": "d", "input_schema": SCHEMA, "strict": True}],
    "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    "stop_sequences": ["END"],
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 3,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    "metadata": {"user_id": "u"},
    "stream": True,
}

UI: Final[dict[str, Any]] = {
    "id": "chat-1",
    "trigger": "submit-message",
    "model": "m",
    "system": "Be brief.",
    "temperature": 0.5,
    "messages": [
        {
            "id": "m1",
            "role": "user",
            "metadata": {"at": 1},
            "parts": [
                {"type": "text", "text": "What is this?"},
                {"type": "file", "mediaType": "image/png", "url": PIXEL, "filename": "a.png"},
            ],
        },
        {
            "id": "m2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {
                    "type": "reasoning",
                    "text": "hm",
                    "state": "done",
                    "providerMetadata": {"rxstream": {"signature": "s"}},
                },
                {
                    "type": "tool-weather",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"city": "Oslo"},
                    "output": {"sky": "clear"},
                    "callProviderMetadata": {"rxstream": {"signature": "t"}},
                },
                {
                    "type": "dynamic-tool",
                    "toolName": "map",
                    "toolCallId": "c2",
                    "state": "output-error",
                    "input": {},
                    "errorText": "broken",
                },
                {"type": "step-start"},
                {"type": "text", "text": "It is", "state": "done"},
                {"type": "source-url", "sourceId": "1", "url": ADDRESS},
                {"type": "data-annotation", "data": {"kind": "k"}},
            ],
        },
        {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "and?"}]},
    ],
    "tools": {"weather": {"description": "d", "parameters": SCHEMA}},
    "toolChoice": "auto",
    "responseFormat": {"type": "json", "schema": SCHEMA, "name": "weather", "description": "d"},
    "includeUsage": True,
}

BODIES: Final[dict[str, dict[str, Any]]] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "ai-sdk-ui": UI,
}
