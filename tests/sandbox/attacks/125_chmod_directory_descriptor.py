"""Changes a mode relative to a directory that is open as a path."""

place = os.open(at.home, os.O_PATH)
os.chmod(".bashrc", 0o777, dir_fd=place)
