"""What can go wrong around the local model, each with the way out in its text."""

from __future__ import annotations

from rxstream.errors import Category

__all__ = ("LocalModelError",)


class LocalModelError(RuntimeError):
    """The local model cannot be installed, found or started.

    It is no `StreamError`: no stream has begun. The text names the command or the setting that helps.

    Args:
        message: what happened and what to do.
        category: one of the stable categories of `rxstream.errors`.
    """

    def __init__(self, message: str, *, category: Category) -> None:
        super().__init__(message)
        self.category: Category = category
