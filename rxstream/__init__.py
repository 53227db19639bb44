"""Reactive dataflow pipelines for language-model streams."""

__all__: tuple[str, ...] = ()
