"""What a sandboxed command may reach."""

from coder.core.values.base import Value


class Policy(Value):
    """What one command may reach; the default is workspace-write without network."""

    writes: bool = True
    """May it write in its working directory, which is a worktree then? Nowhere else but to a private temporary directory."""
    network: bool = False
    """False: no host is reached, not even this one; a loopback interface of its own is there where the sandbox can give one."""


READ_ONLY = Policy(writes=False)
