"""Opens the person's terminal, to read what they type."""

os.close(os.open(at.terminal, os.O_RDWR | os.O_NOCTTY))
print("ESCAPED")
