"""Writes the repository's private attributes, which name filters."""

info = Path(at.project, ".git/info")
info.mkdir(exist_ok=True)
(info / "attributes").write_text("* filter=owned\n")
