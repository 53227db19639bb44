"""Text of a model, made safe for a terminal.

A model can be made to say anything, escape sequences that retitle the window, clear the screen or move the cursor over
other output among them, and a stream may cut them anywhere. Here every control sequence is taken out, whole or cut.

Source: ECMA-48 (control functions), section 5: C0, C1, control sequences and control strings.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("TerminalText",)

MAX_SEQUENCE_CHARS: Final = 4096
"""A control string that is longer than this is none: its beginning goes, and what follows is text again."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_SEQUENCE: Final = re.compile(
    r"""(?x)
      (?: \x1b\[ | \x9b ) [0-?]* [\ -/]* (?: [@-~] | (?= [\x00-\x1f\x7f-\x9f] ) )  # CSI
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] ) [^\x07\x1b\x9c]*                     # OSC, DCS, SOS, PM, APC: a string
      (?: \x07 | \x9c | \x1b\\ | (?= \x1b[^\\] ) )                                  # and its end
    | \x1b (?: [\ -/]+ [0-~] | [0-OQ-WYZ\\`a-~] | [\ -/]* (?= [\x00-\x1f\x7f-\x9f] ) )  # other
    """
)
"""Each also ends, unfinished, where another control character begins."""

_OPEN_SEQUENCE: Final = re.compile(
    r"""(?x)
    (?: (?: \x1b\[ | \x9b ) [0-?]* [\ -/]*
      | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] ) [^\x07\x1b\x9c]* \x1b?
      | \x1b [\ -/]*
    ) \Z
    """
)


class TerminalText:
    """Take control sequences out of a text that comes in pieces; line feed and tab stay.

    `feed` gives what may be written now. The beginning of a sequence that is cut at the end of a piece waits for the
    next one, `MAX_SEQUENCE_CHARS` at most.
    """

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open = ""

    def feed(self, text: str) -> str:
        """The safe part of what was fed so far and not yet given."""
        if not self._open and _CONTROL.search(text) is None:
            return text  # nearly all of it
        text, self._open = self._open + text, ""
        text = _SEQUENCE.sub("", text)
        cut = _OPEN_SEQUENCE.search(text)
        if cut is not None and len(text) - cut.start() <= MAX_SEQUENCE_CHARS:
            text, self._open = text[: cut.start()], text[cut.start() :]
        return _CONTROL.sub("", text)

    def close(self) -> str:
        """The text has ended: a sequence that was never finished is dropped."""
        self._open = ""
        return ""
