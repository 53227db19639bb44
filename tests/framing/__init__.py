"""Framings: bytes to frames."""
