"""Sets the times of a symbolic link itself."""

os.utime(os.path.join(at.home, "bin/link"), (1, 1), follow_symlinks=False)
