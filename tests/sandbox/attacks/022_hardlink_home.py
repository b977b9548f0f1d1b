"""Links a file of the home into the worktree and writes to the link."""

os.link(Path(at.home, ".bashrc"), "mine")
Path("mine").write_text("owned")
