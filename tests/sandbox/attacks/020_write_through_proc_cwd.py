"""Writes into the home, the working directory of another program, through /proc."""

Path(f"/proc/{at.victim}/cwd/.bashrc").write_text("owned")
