"""Reads the keys of another program's environment."""

print(Path(f"/proc/{at.victim}/environ").read_text())
