"""python -m attnbook"""

import sys

from attnbook.cli import main

sys.exit(main())
