"""Private files: paths whose content no tool reads and no command sees."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from coder.core.paths import is_test_path

KEY_FILES = (
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa", "id_dsa", "id_ecdsa"),
    "id_ed25519",
)
"""Key material; among tests it is test data, which the tests need."""
DENY_READ = (
    *KEY_FILES,
    *(".env", ".env.*", "*.env", ".envrc", "!.env.example", "!.env.sample", "!.env.template"),
    *("!.env.dist", "!example.env", "!sample.env"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc", ".npmrc", ".git-credentials", ".htpasswd"),
    *(".dockercfg", "*.kdbx"),
    *("*.tfstate", "*.tfvars", "credentials.json", "client_secret*.json", "service-account*.json"),
    "secrets.toml",
    *("secrets.yml", "secrets.yaml", ".ssh/*", ".gnupg/*", ".aws/*", ".azure/*", ".kube/*"),
    ".docker/config.json",
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


SAFE_KEYS = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|symlinks|precomposeunicode"
    r"|autocrlf|eol|trustctime|checkstat|longpaths"
    r"|sharedrepository|logallrefupdates|sparsecheckout|sparsecheckoutcone)"
    r"|extensions\.(?!worktreeconfig$|partialclone$)[a-z0-9-]+"
    r"|user\.(name|email|useconfigonly)|(author|committer)\.(name|email)"
    r"|i18n\.(commitencoding|logoutputencoding)"
    r"|commit\.gpgsign|gpg\.format|user\.signingkey"
    r"|branch\..+\.(remote|merge)|remote\..+\.fetch",
    re.DOTALL,
)
"""Everything else is dropped, including includes, so that a key which a later git executes is not obeyed
either. Of signing, only the values: its programs are the user's."""
HEADER = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
ASSIGNMENT = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$")
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|\\(.)|[#;].*|([^"\\#;]+)')


def parse_configuration(text: str) -> Iterator[tuple[str, str]]:
    """Yield each `section.subsection.key`, as git spells it, with its value; invalid lines are skipped."""
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line
        while header := HEADER.match(rest):
            section = f"{header[1].lower()}." + (f"{_unescape(header[2])}." if header[2] is not None else "")
            rest = rest[header.end() :]
        if section and (assignment := ASSIGNMENT.match(rest)):
            yield (
                f"{section}{assignment[1].lower()}",
                "true" if assignment[2] is None else _value(assignment[2]),
            )


def safe_configuration(text: str, sections: tuple[str, ...] = ()) -> str:
    """Return a configuration with the safe keys only (of some sections, if given), reformatted."""
    safe_entries = [
        (key, value)
        for key, value in parse_configuration(text)
        if SAFE_KEYS.fullmatch(key) and "\n" not in key + value and "\0" not in key + value
    ]
    return "".join(
        _format_entry(key, value)
        for key, value in safe_entries
        if not sections or key.partition(".")[0] in sections
    )


def _format_entry(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    header = f'[{section} "{_escape(subsection)}"]' if subsection else f"[{section}]"
    return f'{header}\n\t{name} = "{_escape(value)}"\n'


def _value(text: str) -> str:
    return "".join(
        _unescape(piece[1] or "") or piece[2] or piece[3] or "" for piece in PIECE.finditer(text)
    ).strip()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
