"""Looks for open directories that lead out."""

for number in range(3, 256):
    try:
        place = os.open(os.path.relpath(at.project, "/"), os.O_RDONLY, dir_fd=number)
    except OSError:
        continue
    os.close(os.open("main.py", os.O_WRONLY | os.O_TRUNC, dir_fd=place))
root = os.open("/", os.O_RDONLY)
os.close(os.open(os.path.join(at.project, "main.py").lstrip("/"), os.O_WRONLY | os.O_TRUNC, dir_fd=root))
