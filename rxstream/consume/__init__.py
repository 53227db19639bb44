"""Where streams end: consumers that pull."""
