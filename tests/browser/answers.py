"""What the scripted model answers: the question says which script is played."""

from __future__ import annotations

import json
from collections.abc import Callable

from rxstream.events import ToolCall, Usage
from rxstream.testing import Cut, Pause, Repeat, Reply, Request, Send, answer, error_reply

__all__ = ("HOSTILE", "LONG_LINE", "MARKDOWN", "reply_to")

PACING_SECONDS = 0.02

MARKDOWN = """\
# Rivers

A river is **water** that _goes somewhere_. See [the source](https://example.org/source).

1. It begins.
2. It flows:
   - past stones,
   - past `banks`.
3. It ends.

> No man steps in the same river twice.

```python
def flow(river):
    while river:  # until the sea
        yield river.pop()
```

| river | length |
|---|---:|
| Nile | 6650 |
| Spree | 400 |

Done.
"""

HOSTILE = """\
<script>window.pwned = 1</script>

<img src="https://evil.example/pixel.png" onerror="window.pwned = 2">

![a picture](https://evil.example/tracker.png) and [a link](javascript:window.pwned=3)
and <a href="x" onclick="window.pwned=4">more</a>

<iframe src="https://evil.example"></iframe><style>body { display: none }</style>

<svg onload="window.pwned=5"></svg> <math><mtext><img src=x onerror=window.pwned=6></mtext></math>

\x1b[2J\x1b]0;owned\x07 red \x1b[31m and \x9b31m

access \u202egnp.exe\u202c and \u2066isolate\u2069

[reference]: javascript:window.pwned=7

[reference] <form action="https://evil.example"><input name="password"></form>

```html
<script>window.pwned = 8</script>
```
"""

LONG_LINE = "stone " * 175_000
"""More than a million characters without a line's end."""

PIECE = "pebble " * 300


def reply_to(request: Request) -> Reply:
    """The script for the last thing that the user said."""
    asked = request.json()["messages"][-1]["content"]
    script = SCRIPTS.get(asked)
    return answer(f"You said: {asked}") if script is None else script()


def _pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _chunk(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _endless(text: str, every_seconds: float) -> Reply:
    return Reply([Repeat(lambda number: _chunk(text), every_seconds=every_seconds)])


def _thinks(pacing_seconds: float = 0.01) -> Reply:
    call = ToolCall("call-1", "weather", '{"city": "Paris"}')
    return answer(
        "It will rain.",
        reasoning=["Clouds, ", "so rain."],
        tool_calls=[call],
        usage=Usage(12, 34),
        pacing_seconds=pacing_seconds,
    )


SCRIPTS: dict[str, Callable[[], Reply]] = {
    "words": lambda: answer(*_pieces("one two three four five", 4), usage=Usage(3, 5), pacing_seconds=PACING_SECONDS),
    "markdown": lambda: answer(*_pieces(MARKDOWN), usage=Usage(5, 90), pacing_seconds=0.005),
    "hostile": lambda: answer(*_pieces(HOSTILE)),
    "long line": lambda: answer(LONG_LINE),
    "endless": lambda: _endless("drop ", PACING_SECONDS),
    "flood": lambda: _endless(PIECE, 0.0),
    "thinks": _thinks,
    "thinks slowly": lambda: _thinks(0.4),  # so that no marble lies on another
    "silence": lambda: Reply([Pause(3600)]),
    "breaks off": lambda: Reply([Send(_chunk("half an ans")), Cut()], framing="close"),
    "too short": lambda: answer("It was a dark and", finish="length"),
    "is busy": lambda: error_reply(429, {"error": {"message": "slow down", "type": "rate_limit_error"}}),
}
