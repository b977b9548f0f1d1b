"""Takes memory in a file without a name, which no process shows."""

held = os.memfd_create("held")
held_too = os.memfd_create("held too")
for turn in range(100):
    os.write((held, held_too)[turn % 2], bytes(10 << 20))
    time.sleep(0.02)
print("ESCAPED")
