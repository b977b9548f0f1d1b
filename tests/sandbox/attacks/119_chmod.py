"""Changes modes by names, links, parents and descriptors, and with the newest system calls."""

path = os.path.join(at.home, ".bashrc")
place = os.open(path, os.O_PATH)
os.symlink(path, "way-to-mode")
os.symlink(at.home, "way-to-directory")
attempt(
    lambda: os.chmod(os.path.join(at.home, ".netrc"), 0o4777),
    lambda: os.chmod("way-to-mode", 0o777),
    lambda: os.chmod("way-to-directory/bin", 0o777),
    lambda: os.chmod(f"/proc/self/fd/{place}", 0o776),
    lambda: os.chmod(f"/dev/fd/{place}", 0o775),
    lambda: os.chmod(".cache", 0o777, dir_fd=os.open(at.home, os.O_PATH)),
    lambda: os.chmod(os.path.join(os.path.relpath("/"), path.lstrip("/")), 0o774),
    lambda: call(452, 452, -100, path.encode(), 0o773, 0),
    lambda: call(452, 452, place, b"", 0o772, 0x1000),
    *(lambda file=file: os.fchmod(file, 0o777) for file in open_checkout()),
    lambda: os.chdir(at.home),
    lambda: os.chmod(".config", 0o777),
    lambda: os.chmod(".ssh", 0),
)
