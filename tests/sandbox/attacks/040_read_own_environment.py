"""Reads the key in its environment."""

import os

print(os.environ["ANTHROPIC_API_KEY"])
