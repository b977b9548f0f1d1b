"""Writes to the checkout and the home through links, many `..`, and /proc."""

attempt(
    lambda: Path("way").symlink_to(at.home),
    lambda: Path("way/.bashrc").write_text("owned"),
    lambda: Path(os.path.relpath(at.project), "main.py").write_text("owned"),
    lambda: Path(f"/proc/self/root{at.project}/main.py").write_text("owned"),
    lambda: Path(f"/proc/{at.victim}/cwd/.bashrc").write_text("owned"),
    lambda: os.link(Path(at.home, ".bashrc"), "linked"),
    lambda: Path("linked").write_text("owned"),
    lambda: os.link(Path(at.project, "main.py"), "linked too"),
    lambda: Path("linked too").write_text("owned"),
)
