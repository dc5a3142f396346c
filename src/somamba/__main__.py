"""``python -m somamba`` is the ``somamba`` command."""

import sys

from somamba.cli.main import main

sys.exit(main())
