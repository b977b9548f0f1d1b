"""Talks to a socket through a symbolic link in the worktree."""

os.symlink(at.socket, "way")
with socket.socket(socket.AF_UNIX) as way:
    way.connect("way")
    print(way.recv(100).decode())
