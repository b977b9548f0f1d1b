"""Safe subset of a repository's git configuration, which neither executes nor redirects anything."""

import re
from collections.abc import Iterator

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
