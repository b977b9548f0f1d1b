"""Sets a hooks directory with git itself."""

import subprocess

subprocess.run(["git", "config", "core.hooksPath", "hooks"], check=True)
