def initials(name):
    """The first letters of a name's parts, in capitals."""
    return "".join(part[0] for part in name.split(" ")).upper()
