"""Changes a mode through /dev/fd."""

place = os.open(os.path.join(at.home, ".bashrc"), os.O_PATH)
os.chmod(f"/dev/fd/{place}", 0o777)
