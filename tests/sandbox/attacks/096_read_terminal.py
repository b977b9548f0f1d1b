"""Opens the person's terminal, to read what they type."""

import os

from stage import at

os.close(os.open(at.terminal, os.O_RDWR | os.O_NOCTTY))
print("ESCAPED")
