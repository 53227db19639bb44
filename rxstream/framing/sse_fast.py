"""The two shapes that nearly every event of a language model has, cut by one split per chunk.

`data: X` and `event: N` + `data: X`, each with a blank line behind. A split that has the prefix inside its separator
costs a fraction of reading line by line. Its result is taken only where no line end is left in it: then it is what
reading line by line gives. Else the caller reads the lines.
"""

from __future__ import annotations

from rxstream.framing.frames import Payload
from rxstream.framing.sse_names import NameHeads

__all__ = ("single_payload", "split_block")


def single_payload(block: bytes, heads: NameHeads) -> bytes | None:
    """Return the payload of `block` where it is one whole event in one of the shapes, told by its bytes."""
    end = len(block) - 2
    first = block.find(b"\n")
    if first == end:
        start = 6 if block.startswith(b"data: ") else 0
    elif block.startswith(b"event: ") and block.startswith(heads.lead, 7) and block.find(b"\n", first + 1) == end:
        start = 7 + heads.name_end
    else:
        return None
    return block[start:end] if start and block.endswith(b"\n") and b"\r" not in block else None


def split_block(block: bytes, heads: NameHeads) -> tuple[list[Payload], bytes] | None:
    """Cut `block`, which begins where an event may begin, into the payloads of whole events and the rest.

    Args:
        block: text without a byte-order mark, at a place where nothing is open.
        heads: the event names seen so far.

    Returns:
        The payloads and a rest of at most one line end, in which no event is complete; None where only reading line by
        line tells.
    """
    if b"\r" in block:
        return _split_crlf(block)
    end = block.rfind(b"\n\n")
    if end == -1:
        return ([], block) if block.count(b"\n") <= 1 else None
    rest = block[end + 2 :]
    if rest and rest.count(b"\n") > 1:
        return None
    if block.startswith(b"data: "):
        payloads = _whole(block[6:end].split(b"\n\ndata: "))
    elif block.startswith(b"event: "):
        payloads = _split_named(block[7:end].split(b"\n\nevent: "), heads)
    else:
        payloads = None
    return None if payloads is None else (payloads, rest)


def _split_crlf(block: bytes) -> tuple[list[Payload], bytes] | None:
    """The same for data alone, where every line ends in CRLF."""
    end = block.rfind(b"\r\n\r\n")
    rest = block[end + 4 :] if end != -1 else block
    ends = rest.count(b"\n")
    if ends > 1 or rest.count(b"\r") != ends or rest.count(b"\r\n") != ends:
        return None
    if end == -1:
        return [], block
    if not block.startswith(b"data: "):
        return None
    payloads = _whole(block[6:end].split(b"\r\n\r\ndata: "))
    return None if payloads is None else (payloads, rest)


def _split_named(events: list[bytes], heads: NameHeads) -> list[Payload] | None:
    """Cut each of `events`, `NAME LF data: X`, into a name and data; an event with other lines is refused."""
    payloads: list[bytes] = []
    named: list[tuple[int, bytes]] = []
    lead, name_end = heads.lead, heads.name_end
    for event in events:
        if event.startswith(lead):
            payloads.append(event[name_end:])
            continue
        name, separator, data = event.partition(b"\ndata: ")
        if not separator or b"\n" in name:
            return None
        if heads.repeats(name, data):
            lead, name_end = heads.lead, heads.name_end
        else:
            named.append((len(payloads), name))
        payloads.append(data)
    whole = _whole(payloads)
    if whole is not None:
        for index, name in named:
            whole[index] = heads.payload(name, payloads[index])
    return whole


def _whole(payloads: list[bytes]) -> list[Payload] | None:
    """The payloads, where each is one line. One search in the joined text is cheaper than one in each."""
    joined = b"".join(payloads)
    if b"\n" in joined or b"\r" in joined:
        return None
    return payloads  # type: ignore[return-value]  # a list is invariant, and nobody else holds this one
