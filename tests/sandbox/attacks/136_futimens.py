"""Sets times through a descriptor that is open for reading only."""

for name in (".git/HEAD", "main.py"):
    try:
        file = os.open(os.path.join(at.project, name), os.O_RDONLY)
    except OSError:
        continue
    os.utime(file, (1, 1))
