"""Takes another program's processor time away, by its limits."""

import resource

from stage import at

resource.prlimit(at.victim, resource.RLIMIT_NOFILE, (1, 1))
print("ESCAPED" if resource.prlimit(at.victim, resource.RLIMIT_NOFILE) == (1, 1) else "")
