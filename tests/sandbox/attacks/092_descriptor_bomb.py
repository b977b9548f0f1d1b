"""Opens more and more files."""

held = [os.open("/dev/null", os.O_RDONLY) for _ in range(900)]
print("ESCAPED")
