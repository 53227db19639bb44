"""Frames to events, one file per wire API. A wire is found by name in `registry`; its file is imported at first use."""
