"""Reads the keys in its environment, and in those of all programs."""

print(os.environ.get("ANTHROPIC_API_KEY"))
for place in Path("/proc").glob("[0-9]*/environ"):
    attempt(lambda: print(place.read_text()))
