"""Changes a mode through a descriptor that is open for reading only."""

for name in (".git/HEAD", "main.py"):
    try:
        file = os.open(os.path.join(at.project, name), os.O_RDONLY)
    except OSError:
        continue
    os.fchmod(file, 0o777)
