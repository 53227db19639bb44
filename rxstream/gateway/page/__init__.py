"""The gateway's web page: a conversation, and a picture of the pipeline that carries its answers.

`assets` serves the files of `static`, `socket` is the page's one connection, `chat` an answer on it, whose `events` are
without what the page does not show; `telemetry` is what its picture is drawn from, and `upstream_line` the provider's
connection, which the page can cut.
"""
