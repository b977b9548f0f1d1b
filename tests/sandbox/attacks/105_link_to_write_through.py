"""Leaves a link that the person's side writes through.

Then: write notes.txt
"""

os.symlink(Path(at.home, ".bashrc"), "notes.txt")
