"""Changes a mode through /proc/self/fd and a descriptor that is only a path."""

place = os.open(os.path.join(at.home, ".ssh"), os.O_PATH)
os.chmod(f"/proc/self/fd/{place}", 0o777)
