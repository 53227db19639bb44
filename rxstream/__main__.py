"""`python -m rxstream`: the command line, where the environment's programs are not on the path."""

from __future__ import annotations

from rxstream.cli import main

if __name__ == "__main__":
    main()
