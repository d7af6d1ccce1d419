"""`python -m treecast`: the command line without its script."""

import sys

from treecast.cli.app import main

sys.exit(main())
