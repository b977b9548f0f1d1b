"""Swaps a directory for a link, to and fro, while the person's side writes in it.

During: write docs/.bashrc
"""

end = time.monotonic() + 2
os.makedirs("docs", exist_ok=True)
turn = 0
while time.monotonic() < end:
    turn += 1
    try:
        os.rename("docs", f"old{turn}")
        os.symlink(at.home, "docs")
        os.unlink("docs")
        os.rename(f"old{turn}", "docs")
    except OSError:
        os.makedirs("docs", exist_ok=True)
