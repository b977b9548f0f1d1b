"""Private files, which no model sees, and secrets in other texts, which are masked."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, TypeVar

from coder.core.paths import is_test_path

if TYPE_CHECKING:
    from pydantic import BaseModel

    from coder.core.values import Message

MaskedValue = TypeVar("MaskedValue", bound="BaseModel")
_FORMATS = {
    "private key": (
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\s*[\w-]+: [^\n]*+)*+"
        r"(?:[\s|\d\\nr\"',+-]*+[A-Za-z0-9+/]{16,}+={0,2}+)++"
        r"(?:[^-]{0,80}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    "Anthropic key": (("sk-ant-",), r"\bsk-ant-[\w-]{20,}"),
    "OpenAI key": (("sk-",), r"\bsk-(?=[\w-]*\d)(?=[\w-]*[A-Z])(?:proj-|svcacct-|admin-)?[\w-]{20,}"),
    "OpenRouter key": (("sk-or-v1-",), r"\bsk-or-v1-[0-9a-f]{40,}"),
    "AWS access key": (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    "GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,})",
    ),
    "GitLab token": (("glpat-",), r"\bglpat-[\w-]{20,}"),
    "Google key": (("AIza",), r"\bAIza[\w-]{35}(?![\w-])"),
    "Google token": (("ya29.", "GOCSPX-"), r"\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}"),
    "Slack token": (
        ("xox", "xapp-", "hooks.slack.com/services/"),
        r"\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}"
        r"|(?<=hooks\.slack\.com/services/)T\w+/B\w+/\w{16,}",
    ),
    "Stripe key": (("k_live_", "k_test_", "whsec_"), r"\b(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"),
    "JSON web token": (("eyJ",), r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    "npm token": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    "PyPI token": (("pypi-",), r"\bpypi-[\w-]{50,}"),
    "Hugging Face token": (("hf_",), r"\bhf_[A-Za-z]{30,}\b"),
    "SendGrid key": (("SG.",), r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
}
"""Formats as documented by their issuers and used by secret scanners (gitleaks, detect-secrets).

Before each, literals of which every value contains one: a hundred times as fast to find.
"""
_FORMAT_PATTERNS = {kind: re.compile(pattern) for kind, (_, pattern) in _FORMATS.items()}
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY")
_KEY_LINE = re.compile(r"[\s|\d>\"',+-]*(?:[\w-]+: .*|[A-Za-z0-9+/=]*)[\s\\nr\"',+]*")
"""Lines after the first: a header, an empty line, or base64, possibly with a diff's or a listing's prefix."""
_RUN = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,128}={0,2}(?![\w+/=-])")
_NAMED_HASH = re.compile(
    r"(?i)(?:sha-?\d{1,3}|md5|h1|integrity|checksum|fingerprint|hash|digest|nonce|etag"
    r"|ssh-\w+|base64)\W{1,4}$"
)
_HASH = re.compile(r"sha\d{1,3}-")
_HEX = re.compile(r"(?i)[0-9a-f-]+")
_WORDS = re.compile(r"(?:^|[/_-])[a-z]{5,}(?:$|[/_-])")
_OWN_NAME = re.compile(
    r"(?i)(?:^|_)(?:api)?key(?:$|_)|token|secret|passw|credential|auth(?!or)|private|_pat$|dsn$|cookie"
)
_HARMLESS = re.compile(r"(?:[A-Za-z]+[_-]?){1,3}|\d{1,15}|https?://[^@]*|[/~.].*", re.DOTALL)
"""Values that reveal nothing, such as a method's name, a number of seconds, an address, a path."""
MIN_OWN_LENGTH = 8
PLACEHOLDER = re.compile(
    r"\[masked: (?:a secret|a random value|[\w ]+? (?:key|token)"
    r"|[\w ]+? of yours)(?: (?P<digest>[0-9a-f]{6}))?\]"
)
"""A mask; the digest distinguishes values without revealing them."""
_KEY_RUN = re.compile(
    r"[A-Za-z0-9+/]{16,}={0,2}|(?<=[\s\"'n])(?!\d+[|:-])"
    r"[A-Za-z0-9+/]{3,15}={0,2}(?=[\s\\\"',]*[\s|\d+>-]*-----END)"
)
VERBATIM_FIELDS = frozenset({"opaque", "arguments", "blob", "base64", "tree", "type", "role"})
"""Fields that are executed, sent back or looked up verbatim; the user's own values are masked there, too."""
Replace = Callable[[str, str], str]
"""Maps the kind of a secret and its value to the replacement."""


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """Secrets to be masked in texts."""

    own: tuple[str, ...] = ()
    """The user's own secret values, longest first."""
    key: bytes = field(default=b"", repr=False)
    """Random bytes of the session, without which values cannot be guessed from placeholders; empty: no
    digests."""

    def mask(self, text: str) -> str:
        """Replace every secret in the text by a placeholder, the same for the same value.

        Line breaks are kept.
        """
        return _replace_secrets(text, self.own, self._placeholder)

    def restore_placeholders(self, text: str, source: str) -> str:
        """Replace placeholders in the text by the values that `source` contains.

        Raises:
            LookupError: `source` does not contain the value of a placeholder; the argument is the
            placeholder.
        """
        if not PLACEHOLDER.search(text):
            return text
        values_by_digest = self._values_in(source)

        def value(match: "re.Match[str]") -> str:
            values = values_by_digest.get(match["digest"] or "", set())
            if not values and match[0] in source:
                return match[0]
            if len(values) != 1:
                raise LookupError(match[0])
            return next(iter(values))

        return PLACEHOLDER.sub(value, text)

    def _values_in(self, source: str) -> dict[str, set[str]]:
        values_by_digest: dict[str, set[str]] = {}

        def note(kind: str, value: str) -> str:
            values_by_digest.setdefault(self._digest(value), set()).add(value)
            return self._placeholder(kind, value)

        _replace_secrets(source, self.own, note)
        return values_by_digest

    def _placeholder(self, kind: str, value: str) -> str:
        return f"[masked: {kind} {self._digest(value)}]" if self.key else f"[masked: {kind}]"

    def _digest(self, value: str) -> str:
        return blake2b(value.encode("utf-8", "surrogatepass"), key=self.key, digest_size=3).hexdigest()

    def line_masker(self) -> Callable[[str], str]:
        """Return a function that masks lines one at a time, including those of a multi-line private key."""
        in_key = False

        def mask(line: str) -> str:
            nonlocal in_key
            ends = _KEY_ENDS.search(line)
            is_hidden = bool(_KEY_BEGINS.search(line) if not in_key else ends or _KEY_LINE.fullmatch(line))
            in_key = is_hidden and not ends
            return (
                "[masked: private key]"
                if in_key or (is_hidden and not _KEY_BEGINS.search(line))
                else self.mask(line)
            )

        return mask

    def mask_value(self, value: MaskedValue) -> MaskedValue:
        """Mask all texts of a value; in a model's text only the user's own secrets are masked."""
        data = value.model_dump(mode="json")
        masked_data = self._mask_nested(data, self.mask)
        return value if masked_data == data else type(value).model_validate(masked_data)

    def _mask_nested(self, data: object, mask: Callable[[str], str]) -> object:
        match data:
            case str():
                return mask(data)
            case dict():
                # a diff delivered without a commit is applied from the log, so only own values are masked
                is_verbatim = data.get("role") == "assistant" or (
                    "needs_uncommitted_work" in data and not data.get("commit")
                )
                return {
                    name: self._mask_nested(
                        inner, self.mask_own_values if is_verbatim or name in VERBATIM_FIELDS else mask
                    )
                    for name, inner in data.items()
                }
            case list():
                return [self._mask_nested(inner, mask) for inner in data]
        return data

    def mask_own_values(self, text: str) -> str:
        return _replace_own(text, self.own, self._placeholder)


def _replace_secrets(text: str, own: tuple[str, ...], replace: Replace) -> str:
    """Replace each secret, by any rule; placeholders are not secrets."""
    text = _replace_own(text, own, replace)
    for kind, (anchors, _) in _FORMATS.items():
        if any(anchor in text for anchor in anchors):
            text = _replace_format(text, kind, replace)
    lowered = text.lower()
    for anchors, context in CONTEXTS:
        if any(anchor in lowered for anchor in anchors):
            text = context.sub(lambda match: _replace_literal(match, replace), text)
    return _RUN.sub(lambda match: _replace_run(match, replace), text)


def _replace_own(text: str, own: tuple[str, ...], replace: Replace) -> str:
    for value in own:
        if value in text:
            text = text.replace(value, replace("a secret of yours", value))
    return text


def _replace_format(text: str, kind: str, replace: Replace) -> str:
    def hide(match: "re.Match[str]") -> str:
        if kind == "private key":
            return _KEY_RUN.sub(lambda run: replace(kind, run[0]), match[0])
        return replace(kind, match[0])

    return _FORMAT_PATTERNS[kind].sub(hide, text)


def _replace_literal(match: "re.Match[str]", replace: Replace) -> str:
    value = match["quoted"] or match["bare"]
    if PLACEHOLDER.search(value) or not is_literal_secret(match):
        return match[0]
    start = match.start("quoted" if match["quoted"] else "bare") - match.start()
    return f"{match[0][:start]}{replace('a secret', value)}{match[0][start + len(value) :]}"


def secret_environment_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables with secret-like names, longest first.

    Paths, addresses and plain words are skipped.
    """
    values = {
        value.strip()
        for name, value in environment.items()
        if _OWN_NAME.search(name)
        and len(value.strip()) >= MIN_OWN_LENGTH
        and not _HARMLESS.fullmatch(value.strip())
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def looks_random(value: str) -> bool:
    """Tell whether a value is random, and not a name, path, hash or number.

    Random values have letters of both cases and digits.

    The criterion is how often one kind of character follows another: at 62 of 100 positions in random base
    62, at about 20 in names.
    """
    core = value.strip("=")
    kinds = [
        "u" if letter.isupper() else "l" if letter.islower() else "d" if letter.isdigit() else ""
        for letter in core
    ]
    if (
        _HEX.fullmatch(core)
        or not {"u", "l", "d"} <= set(kinds)
        or core.startswith(("AAAA", "/", "_Z"))
        or _WORDS.search(core)
    ):
        return False
    change_rate = sum(first != second for first, second in pairwise(kinds)) / (len(kinds) - 1)
    return change_rate >= 0.45 and kinds.count("") * 8 <= len(kinds) and _entropy(core) >= 3.7


def _entropy(text: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    shares = [text.count(letter) / len(text) for letter in set(text)]
    return -sum(share * log2(share) for share in shares)


def _replace_run(match: "re.Match[str]", replace: Replace) -> str:
    before = match.string[max(0, match.start() - 20) : match.start()]
    if not looks_random(match[0]) or _NAMED_HASH.search(before) or _HASH.match(match[0]):
        return match[0]
    return replace("a random value", match[0])


_QUOTED = r"""(?P<quote>\\?["'`])(?P<quoted>(?:(?!(?P=quote))[^\n\\]){2,200})(?P=quote)"""
_BARE = r"""(?P<bare>[^\s"'`,;<>(){}\[\]\\]{2,200})"""
_KEYWORDS = r"passw(?:or)?d|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
ASSIGNMENT = re.compile(
    rf"""(?ix) (?P<keyword>{_KEYWORDS})(?P<rest>[\w-]*) \\?["']?\]?
    (?:[ \t]*:[ \t]*[a-z_][\w.|\[\] ]*?(?=[ \t]*=[^=]))?
    (?P<separator>[ \t]*(?:=>|:=|=(?!=)|:(?!:))[ \t]*) (?:[rbu]{{0,2}}{_QUOTED}|{_BARE})"""
)
CONTEXTS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("://",),
        re.compile(
            r"""(?i)://[^\s/:@"']*:(?P<url>)(?P<quoted>(?!))?(?P<bare>[^\s"'<>{}/@\[\]\\]{2,200})(?=@)"""
        ),
    ),
    (
        ("authorization",),
        re.compile(
            rf"""(?i)(?P<header>\bauthorization)\\?["']?\s*[:=]\s*\\?["']?"""
            rf"""(?:(?:basic|bearer|token)\s+)?(?P<quoted>(?!))?{_BARE}"""
        ),
    ),
    (("bearer",), re.compile(rf"""(?i)\bbearer\s+(?P<quoted>(?!))?{_BARE}""")),
    (("</",), re.compile(rf"""(?i)<[\w.:-]*(?P<element>{_KEYWORDS})>(?P<quoted>(?!))?{_BARE}(?=</)""")),
    (
        ("login", "curl"),
        re.compile(
            rf"""(?P<login>\blogin\s+\S+\s+password\s+|\bcurl\b[^\n]*\s(?:-u|--user)[ =]?["']?[\w.@-]+:)"""
            rf"""(?P<quoted>(?!))?{_BARE}"""
        ),
    ),
    (
        (
            "passw",
            "pwd",
            "passphrase",
            "secret",
            "token",
            "credential",
            *(f"{word}{gap}key" for word in ("api", "access", "private") for gap in ("", "_", "-")),
        ),
        ASSIGNMENT,
    ),
)
"""Patterns with the groups `quoted` and `bare`, one of which is the value.

Each has literals, one of which the lowered text must contain.
"""
_TEMPLATE = re.compile(r"[{}<>]|\$[\w({]|%[(\w%]|^\W+$|^[.x*]+$", re.I)
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:[.:=/|]|->)[A-Za-z_]?\w*)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+|[-+]?\d*\.?\d+"
)
_CODE_OR_KEBAB = re.compile(r"[A-Za-z_]+(?:[./:=-][A-Za-z_]\w*)+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DESCRIPTIVE_WORDS = frozenset(
    (  # noqa: SIM905 (a list would take a line a word)
        "password passwords passwd pwd pass passphrase secret secrets token tokens key keys api access "
        "refresh csrf csrfmiddlewaretoken xsrf auth id name field hash your here new old confirm reset "
        "example sample dummy placeholder redacted change changeme me insert enter the a of in none null nil "
        "undefined true false yes no required optional str string bytes int integer float bool boolean any "
        "object text number char varchar unknown never void symbol bearer basic type client private public "
        "session header masked hidden invalid missing empty username email foo bar baz file path env value "
        "default random generate generated self this"
    ).split()
)
_NAME_SUFFIX = re.compile(
    r"(?i)s?(?:[_-]?(?:\d+|dev|prod|production|test|testing|staging|local|default"
    r"|value|old|new|live|main|root|admin))*"
)
_LINE_START = re.compile(
    r"[\s|\d>+*-]*(?:[\w./-]+[:-]\d+[:-]\s*)?(?:(?:export|set|ENV|ARG)\s+|-e\s+|\$\s+"
    r"|\w+:\s+(?=\S*$))?[\"']?[\w.-]*$"
)
_LISTING_PREFIX = re.compile(r"^\s*\d+\s?[-+ ]?\| ?|^[-+ ](?=\S)|^[\w./-]+[:-]\d+[:-]")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\\[nr]|#[^\n]*|$|\n|[\"'](?![\w,]))")


def is_literal_secret(match: "re.Match[str]") -> bool:
    """Tell whether the value of this match is a secret itself, not code that fetches it or a placeholder."""
    groups = match.groupdict()
    value = groups["quoted"] or groups["bare"]
    if _TEMPLATE.search(value):
        return False
    if "url" in groups:
        return value.lower() not in ("password", "passwd", "pass", "pwd")
    if set(map(str.lower, _WORD.findall(value))) <= _DESCRIPTIVE_WORDS:
        return False
    if {"header", "element", "login"} & groups.keys():
        return len(value) >= 4
    if "keyword" not in groups:
        return _resembles_password(value)
    if not _is_strong(match) or not _NAME_SUFFIX.fullmatch(groups["rest"]) or len(value) < 4:
        return _resembles_password(value)
    return _is_quoted_secret(match) if groups["quoted"] else _is_bare_secret(match, value)


def _is_strong(match: "re.Match[str]") -> bool:
    """Tell whether the name alone marks its value as secret; a bare `token` may be a parser's."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    prefix = re.search(r"[\w.-]*$", before)
    is_qualified = (
        bool(prefix and prefix[0].strip("-_.")) or before.endswith("--") or match["keyword"].isupper()
    )
    return match["keyword"].lower() not in ("token", "credential") or is_qualified


def _is_quoted_secret(match: "re.Match[str]") -> bool:
    value = match["quoted"]
    has_space = re.search(r"\s", value) is not None and match["keyword"].lower() != "passphrase"
    return (
        not has_space
        and not value.startswith(("/", "./", "../", "http://", "https://"))
        and sum(map(str.isalnum, value)) >= 3
    )


def _is_bare_secret(match: "re.Match[str]", value: str) -> bool:
    """Tell whether an unquoted value is literal: in an environment, configuration file, or command line."""
    text, separator = match.string, match["separator"]
    line_start = text.rfind("\n", 0, match.start()) + 1
    before, has_no_space = text[line_start : match.start()], separator.strip() == separator
    if _CODE.fullmatch(value) or value.startswith(("/", "./", "~/", "@", "&", "!", "*")):
        return _resembles_password(value)
    name = re.search(r"(?:--)?[\w.-]*$", before)
    prefix = name[0] if name else ""
    full_name = f"{prefix}{match['keyword']}{match['rest']}"
    if has_no_space and "=" in separator:
        is_variable = full_name.isupper() or full_name.startswith("--")
        if is_variable and text[match.end() : match.end() + 1] not in ("(", ")", "[", ","):
            return True
        if before.removesuffix(prefix).endswith((";", "&", "?")):
            return True
    if not _LINE_START.fullmatch(before) or not _REST_OF_LINE.match(text, match.end()):
        return _resembles_password(value)
    if ":" in separator and "=" not in separator:
        return not has_no_space
    is_indented = _LISTING_PREFIX.sub("", before)[:1].isspace()
    return (
        not is_indented or not _IDENTIFIER.fullmatch(value) or (has_no_space and any(map(str.isdigit, value)))
    )


def _resembles_password(value: str) -> bool:
    """Tell whether the value mixes letters and digits like a password or token, unlike a name."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    has_digits = digits >= 2 or (digits == 1 and len(value) >= 20)
    has_space = re.search(r"\s", value) is not None
    is_name = has_space or _CODE_OR_KEBAB.fullmatch(value) or value[0] in "/."
    return len(value) >= 8 and letters >= 3 and has_digits and not is_name and len(set(value)) >= 6


def fence_text(text: str) -> str:
    """Enclose the text in `[data X]` and `[end of data X]`, where X is derived from it but not part of it.

    The same text always gets the same delimiters, so that a message is never resent differently.
    """
    if not text:
        return text
    seal = _seal(text)
    return f"[data {seal}]\n{text}\n[end of data {seal}]"


def mark_message(message: "Message") -> "Message":
    """Return a message as a model sees it: results of tools are marked as data."""
    return (
        message.model_copy(update={"text": fence_text(message.text)}) if message.role == "tool" else message
    )


def _seal(text: str) -> str:
    digest = sha256(text.encode("utf-8", "surrogatepass"))
    while (seal := digest.hexdigest()[:8]) in text:
        digest.update(b"again")
    return seal


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
    if not _required_texts(tuple(patterns)).search(lowered):
        return False
    is_denied = False
    for pattern in patterns:
        if _fits(lowered, pattern.removeprefix("!").lower()):
            is_denied = not pattern.startswith("!") and not (pattern in KEY_FILES and is_test_path(path))
    return is_denied


def readable_paths(paths: Sequence[str], patterns: Sequence[str] = DENY_READ) -> frozenset[str]:
    """Return the paths that are not denied."""
    return frozenset(path for path in paths if not is_read_denied(path, patterns))


@lru_cache(maxsize=16)
def _required_texts(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return texts one of which each matching path contains: few paths of a search need a full check."""
    pieces = (
        re.split(r"[*?]", pattern.removeprefix("!").lower().lstrip("/").partition("[")[0])
        for pattern in patterns
    )
    longest = {max(pattern_pieces, key=len) for pattern_pieces in pieces}
    return re.compile("|".join(map(re.escape, longest)))


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
SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$")
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|\\(.)|[#;].*|([^"\\#;]+)')


def parse_configuration(text: str) -> Iterator[tuple[str, str]]:
    """Yield each `section.subsection.key`, as git spells it, with its value; invalid lines are skipped."""
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        rest = line
        while header := HEADER.match(rest):
            section = f"{header[1].lower()}." + (f"{_unescape(header[2])}." if header[2] is not None else "")
            rest = rest[header.end() :]
        if section and (assignment := SETTING.match(rest)):
            yield (
                f"{section}{assignment[1].lower()}",
                "true" if assignment[2] is None else _value(assignment[2]),
            )


def safe_configuration(text: str, sections: tuple[str, ...] = ()) -> str:
    """Return a configuration with the safe keys only (of some sections, if given), reformatted."""
    return "".join(
        _format_entry(key, value)
        for key, value in parse_configuration(text)
        if SAFE_KEYS.fullmatch(key)
        and not {"\n", "\0"} & {*key, *value}
        and (not sections or key.partition(".")[0] in sections)
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
