"""API keys in the system's keyring, by the names of their environment variables.

Used where the package keyring is installed: `keyring set coder ANTHROPIC_API_KEY` stores one.
"""

from importlib.util import find_spec

SERVICE = "coder"


def read_stored_key(variable: str) -> str:
    """Return the key that the keyring holds for a variable; empty where there is none, or no keyring."""
    if find_spec("keyring") is None:
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, variable) or ""
    except KeyringError:
        return ""
