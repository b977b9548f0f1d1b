"""Leaves a linked directory that the person's side reads through.

Then: read docs/id_rsa
"""

os.symlink(Path(at.home, ".ssh"), "docs")
