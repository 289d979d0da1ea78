"""`python -m renderers` runs the same as the command `renderers`."""

from __future__ import annotations

import sys

from renderers.cli import main

if __name__ == "__main__":
    sys.exit(main())
