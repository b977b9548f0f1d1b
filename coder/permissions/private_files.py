"""Files whose content is nobody's business: which paths no tool reads, and no command sees."""

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
"""Key material; among the tests it belongs to the tests, which need it."""
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
"""Patterns as in .gitignore, of which the last that fits decides: without a slash for a file's name, with one for the end of its path;
`!` in front takes back."""


def denied(path: str, patterns: Sequence[str] = DENY_READ) -> bool:
    """May the content of the file at `path` (relative or absolute, with forward slashes) not be read?"""
    lowered = path.lower()
    if not any(map(lowered.__contains__, _telling(tuple(patterns)))):
        return False
    hidden = False
    for pattern in patterns:
        if _fits(lowered, pattern.removeprefix("!").lower()):
            hidden = not pattern.startswith("!") and not (pattern in KEY_FILES and is_test_path(path))
    return hidden


def readable(paths: Sequence[str], patterns: Sequence[str] = DENY_READ) -> frozenset[str]:
    """Those of many paths that are not denied; much sooner than one by one where that is most of them."""
    together = "\n".join(paths).lower()
    doubtful = [text for text in _telling(tuple(patterns)) if text in together]
    return frozenset(
        path
        for path in paths
        if not any(text in path.lower() for text in doubtful) or not denied(path, patterns)
    )


@lru_cache(maxsize=16)
def _telling(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Texts of which a path that any pattern fits holds one: few of the thousands of paths of a search need a closer look."""
    pieces = (
        re.split(r"[*?]", pattern.removeprefix("!").lower().lstrip("/").partition("[")[0])
        for pattern in patterns
    )
    longest = {max(each, key=len) for each in pieces}
    return tuple(text for text in longest if not any(other in text for other in longest - {text}))


def _fits(path: str, pattern: str) -> bool:
    if "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in path.split("/"))
    return fnmatchcase(path, pattern.lstrip("/")) or fnmatchcase(path, f"*/{pattern.lstrip('/')}")
