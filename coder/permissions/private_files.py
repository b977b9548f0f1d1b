"""Private files: paths whose content no tool reads and no command sees."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from coder.core.values.paths import is_test_path

KEY_FILES = (
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
)
"""Key material; among tests it is test data, which the tests need."""
DENY_READ = (
    *KEY_FILES,
    *(
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
        "!.env.example",
        "!.env.sample",
        "!.env.template",
        "!.env.dist",
        "!example.env",
        "!sample.env",
    ),
    *(
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".pypirc",
        ".npmrc",
        ".git-credentials",
        ".htpasswd",
        ".dockercfg",
        "*.kdbx",
    ),
    *(
        "*.tfstate",
        "*.tfvars",
        "credentials.json",
        "client_secret*.json",
        "service-account*.json",
        "secrets.toml",
    ),
    *(
        "secrets.yml",
        "secrets.yaml",
        ".ssh/*",
        ".gnupg/*",
        ".aws/*",
        ".azure/*",
        ".kube/*",
        ".docker/config.json",
    ),
    *(".config/gcloud/*", ".config/gh/*", ".cargo/credentials*", ".gem/credentials"),
)
"""Patterns as in .gitignore; the last match decides.

Without a slash they match a file's name, with a slash the end of its path; a leading `!` negates.
"""


def is_read_denied(path: str, patterns: Sequence[str] = DENY_READ) -> bool:
    """Tell whether the file at `path` (relative or absolute, with forward slashes) must not be read."""
    lowered = path.lower()
    if not any(map(lowered.__contains__, _required_texts(tuple(patterns)))):
        return False
    is_denied = False
    for pattern in patterns:
        if _fits(lowered, pattern.removeprefix("!").lower()):
            is_denied = not pattern.startswith("!") and not (pattern in KEY_FILES and is_test_path(path))
    return is_denied


def readable_paths(paths: Sequence[str], patterns: Sequence[str] = DENY_READ) -> frozenset[str]:
    """Return the paths that are not denied.

    Much faster than calling `denied` for each where most are readable.
    """
    joined_paths = "\n".join(paths).lower()
    relevant_texts = [text for text in _required_texts(tuple(patterns)) if text in joined_paths]
    return frozenset(
        path
        for path in paths
        if not any(text in path.lower() for text in relevant_texts) or not is_read_denied(path, patterns)
    )


@lru_cache(maxsize=16)
def _required_texts(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts one of which each matching path contains: few paths of a search need a full check."""
    pieces = (
        re.split(r"[*?]", pattern.removeprefix("!").lower().lstrip("/").partition("[")[0])
        for pattern in patterns
    )
    longest = {max(pattern_pieces, key=len) for pattern_pieces in pieces}
    return tuple(text for text in longest if not any(other in text for other in longest - {text}))


def _fits(path: str, pattern: str) -> bool:
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in path.split("/"))
    return fnmatchcase(path, pattern.lstrip("/")) or fnmatchcase(path, f"*/{pattern.lstrip('/')}")
