"""Takes a key out of the person's keyring."""

USER_KEYRING, USER = -4, b"user"
kept = call(248, 217, USER, b"coder-attack", b"x", 1, USER_KEYRING)
buffer = ctypes.create_string_buffer(10)
call(250, 219, 11, kept, buffer, 10)
print("ESCAPED" if buffer.raw[:1] == b"x" else "")
