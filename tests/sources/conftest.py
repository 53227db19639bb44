"""What every test of a source asks besides its own question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A stream that ends, however it ends, is no news."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call")] == []
