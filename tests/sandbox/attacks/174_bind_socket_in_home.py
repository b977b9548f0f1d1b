"""Makes a socket in the home."""

socket.socket(socket.AF_UNIX).bind(os.path.join(at.home, "planted"))
