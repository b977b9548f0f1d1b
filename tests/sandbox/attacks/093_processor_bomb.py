"""Uses the processor without end."""

while time.process_time() < 3:
    pass
print("ESCAPED")
