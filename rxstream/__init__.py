"""Reactive dataflow pipelines for language-model streams."""
