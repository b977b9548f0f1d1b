"""Takes another program's processor time away, by its limits."""

resource.prlimit(at.victim, resource.RLIMIT_NOFILE, (1, 1))
print("ESCAPED" if resource.prlimit(at.victim, resource.RLIMIT_NOFILE) == (1, 1) else "")
