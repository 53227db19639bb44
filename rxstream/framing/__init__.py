"""Bytes to frames, sans-IO: no socket, no clock, no Rx. The result never depends on where the chunks were cut."""
