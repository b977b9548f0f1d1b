"""What goes wrong with a patch."""


class PatchError(Exception):
    """The patch was refused and nothing was changed; the text says why and what to do next."""
