"""Access policy of a sandboxed command."""

from coder.core.values.base import Value


class Policy(Value):
    """Access granted to one command; the default is workspace-write without network."""

    writes: bool = True
    """Whether it may write in its working directory, which is then a worktree; elsewhere only in a private
    temporary directory."""
    network: bool = False
    """False: no host is reachable, not even this one; a private loopback interface exists where the sandbox
    can provide one."""


READ_ONLY = Policy(writes=False)
