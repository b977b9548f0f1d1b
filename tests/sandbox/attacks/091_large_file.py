"""Makes one large file."""

with open("large", "wb") as file:
    file.truncate(1 << 30)
print("ESCAPED")
