"""Links a file of the checkout into the worktree and writes to the link."""

os.link(Path(at.project, "main.py"), "mine")
Path("mine").write_text("owned")
