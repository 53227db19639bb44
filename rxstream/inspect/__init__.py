"""Recordings, looked at: what a stream brought and when, as numbers, as pictures, and as one page.

    facts = inspect_recording("answer.jsonl", Reader(events_per_second=20))
    Path("answer.html").write_text(page(facts))
    Path("answer.png").write_bytes(png(facts, width=1600))

`gather` reads the recording through the pipeline of its wire, `simulate` plays it to a slow reader in virtual time:
both make `Facts`, numbers without a picture. `timeline_figure`, `gaps_figure` and `queue_figure` draw them, and what
they draw is bounded however long the recording is.

    what is read       inspection  material  gathering  reader  simulation
    what is known      facts  gaps
    how it is drawn    kinds  lanes  shapes  scale  palette  figure  the three figures
    what comes of it   cards  html_tables  html_page (with page.css, page.js)  picture  text
"""

from rxstream.inspect.facts import Facts
from rxstream.inspect.html_page import page
from rxstream.inspect.inspection import inspect_recording
from rxstream.inspect.material import Material
from rxstream.inspect.picture import png, svg
from rxstream.inspect.reader import Reader

__all__ = ("Facts", "Material", "Reader", "inspect_recording", "page", "png", "svg")
