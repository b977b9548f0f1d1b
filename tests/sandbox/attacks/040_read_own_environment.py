"""Reads the key in its environment."""

print(os.environ["ANTHROPIC_API_KEY"])
