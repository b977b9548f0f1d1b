"""Sets a hooks directory with git itself."""

subprocess.run(["git", "config", "core.hooksPath", "hooks"], check=True)
