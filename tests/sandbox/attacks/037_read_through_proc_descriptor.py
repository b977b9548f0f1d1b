"""Reads the key that another program has open."""

print(Path(f"/proc/{at.victim}/fd/3").read_text())
