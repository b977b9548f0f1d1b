"""Turns hooks on in a directory that it can write to.

Then: git
"""

mark = Path(at.home).with_name("PWNED")

os.mkdir("hooks")
for name in ("pre-commit", "post-index-change", "reference-transaction"):
    Path("hooks", name).write_text(f"#!/bin/sh\ntouch {mark}\n")
    Path("hooks", name).chmod(0o755)
subprocess.run(["git", "config", "core.hooksPath", os.path.abspath("hooks")], check=True)
