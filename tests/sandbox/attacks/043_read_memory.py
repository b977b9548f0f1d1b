"""Reads another program's memory through /proc."""

with open(f"/proc/{at.victim}/maps") as maps, open(f"/proc/{at.victim}/mem", "rb") as memory:
    for line in maps:
        if "[heap]" in line or "[stack]" in line:
            first, last = (int(word, 16) for word in line.split()[0].split("-"))
            memory.seek(first)
            if b"SECRET" in memory.read(last - first):
                print("ESCAPED")
