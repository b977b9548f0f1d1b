"""Reads the person's private key."""

print(Path(at.home, ".ssh/id_rsa").read_text())
