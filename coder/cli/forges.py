"""Issues and drafts at GitHub, GitLab and Gitea, by their REST interfaces.

https://docs.github.com/rest, https://docs.gitlab.com/api/rest and https://docs.gitea.com/api, with a token of
the environment, or the one that the forge's own program has.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from coder.core.errors import UserError
from coder.core.text import parse_json
from coder.core.verdict import Verdict
from coder.core.verdict_summary import summary_text
from coder.models.catalog import is_loopback

if TYPE_CHECKING:
    import httpx2

SECONDS = 30.0
MOST_REDIRECTS = 5
LARGEST_BYTES = 5_000_000
TEXT_CHARACTERS = 60_000
"""Longest text of an issue with its comments."""
HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""Comments of Markdown, which a page does not show to the user who names it."""


@dataclass(frozen=True, kw_only=True)
class Forge:
    """A kind of server."""

    name: str
    login: str
    """How the user obtains a token."""
    token_command: tuple[str, ...] = ()
    """The forge's own program, as it prints the token for the host that follows."""
    host: str
    """The host that its tokens are for, unless the variable names another."""
    host_variable: str
    token_variables: tuple[str, ...]
    scheme: str = "Bearer"
    """Scheme of the header that a token is sent with."""
    api: str
    comments: str = "comments"
    drafts: str = "pulls"


GITHUB = Forge(
    name="GitHub",
    login="gh auth login, or set GH_TOKEN",
    token_command=("gh", "auth", "token", "--hostname"),
    host="github.com",
    host_variable="GH_HOST",
    token_variables=("GH_TOKEN", "GITHUB_TOKEN"),
    api="api/v3",
)
GITLAB = Forge(
    name="GitLab",
    login="glab auth login, or set GITLAB_TOKEN",
    token_command=("glab", "config", "get", "token", "--host"),
    host="gitlab.com",
    host_variable="GITLAB_HOST",
    token_variables=("GITLAB_TOKEN",),
    api="api/v4",
    comments="notes",
    drafts="merge_requests",
)
GITEA = Forge(
    name="Gitea",
    login="set GITEA_SERVER_TOKEN",
    host="gitea.com",
    host_variable="GITEA_SERVER_URL",
    token_variables=("GITEA_SERVER_TOKEN",),
    scheme="token",
    api="api/v1",
)


@dataclass(frozen=True, kw_only=True)
class ForgeProject:
    """A repository at a forge."""

    forge: Forge
    server: str
    """Scheme and host, such as `https://github.com`."""
    path: str
    """Owner and name; at GitLab all groups."""

    @property
    def host(self) -> str:
        return urlsplit(self.server).netloc

    @property
    def resource(self) -> str:
        """Path of the project below the interface."""
        return f"projects/{quote(self.path, safe='')}" if self.forge is GITLAB else f"repos/{self.path}"

    @property
    def api(self) -> str:
        is_public = self.forge is GITHUB and self.host == GITHUB.host
        return f"https://api.{GITHUB.host}" if is_public else f"{self.server}/{self.forge.api}"


@dataclass(frozen=True, kw_only=True)
class ForgeIssue:
    project: ForgeProject
    number: int


_ISSUE = re.compile(r"/(?P<path>[^/\s]+/[^/\s]+)/issues/(?P<number>\d+)/?")
_GITLAB_ISSUE = re.compile(r"/(?P<path>[^\s]+?)/-/(?:issues|work_items)/(?P<number>\d+)/?")


def parse_issue_address(text: str) -> ForgeIssue | None:
    """Return the issue that a text is the address of; None for any other text."""
    parts = urlsplit(text.strip()) if re.match(r"\s*https?://\S+\s*\Z", text) else None
    if parts is None or "@" in parts.netloc:
        return None
    in_gitlab = _GITLAB_ISSUE.fullmatch(parts.path)
    match = in_gitlab or _ISSUE.fullmatch(parts.path)
    if match is None:
        return None
    server = f"{parts.scheme}://{parts.netloc}"
    forge = GITLAB if in_gitlab else _guess_forge(parts.netloc)
    return ForgeIssue(
        project=ForgeProject(forge=forge, server=server, path=match["path"]), number=int(match["number"])
    )


def _guess_forge(host: str) -> Forge:
    """Return the kind of a server by its host."""
    known = {os.environ.get(forge.host_variable, ""): forge for forge in (GITHUB, GITLAB)}
    if forge := known.get(host):
        return forge
    return next((forge for forge in (GITHUB, GITLAB) if host.startswith(forge.name.lower())), GITEA)


def fetch_issue(issue: ForgeIssue) -> str:
    """Return the title, the text and the comments of an issue, which others have written.

    Raises:
        UserError: it cannot be had.
    """
    project, place = issue.project, f"{issue.project.resource}/issues/{issue.number}"
    found = call_forge(project, place)
    comments = call_forge(project, f"{place}/{project.forge.comments}?per_page=100")
    if not isinstance(found, dict) or not found.get("title"):
        raise UserError(f"{project.server} answers without an issue {issue.number} of {project.path}.")
    parts = [str(found["title"]), _first(found, "description", "body")]
    for comment in comments if isinstance(comments, list) else ():
        if isinstance(comment, dict) and not comment.get("system"):
            owner = _first(comment.get("author") or comment.get("user"), "username", "login")
            parts.append(f"Comment by {owner or '?'}:\n{comment.get('body') or ''}")
    text = "\n\n".join(HIDDEN.sub("", part).strip() for part in parts)
    note = f"\n\n[{len(text) - TEXT_CHARACTERS:,} characters left out]" if len(text) > TEXT_CHARACTERS else ""
    return text[:TEXT_CHARACTERS].replace("\r\n", "\n").replace("\0", "").strip() + note


def _first(value: Any, *names: str) -> str:
    """Return the first field of an object that is there, as forges name it; empty without one."""
    values = [value.get(name) for name in names] if isinstance(value, dict) else []
    return str(next(filter(None, values), ""))


def open_draft(
    root: Path, *, issue: ForgeIssue | None, branch: str, title: str, verdict: Verdict | None
) -> str:
    """Push a branch to the repository's remote and open a draft of it; return its address.

    Raises:
        UserError: the remote is no forge, or the push or the draft is refused.
    """
    remote = _run_git(root, "config", "--get", "remote.pushDefault", accept=(0, 1)) or "origin"
    source = _parse_remote(_run_git(root, "remote", "get-url", "--push", remote))
    target = issue.project if issue else source
    if target is None:
        raise UserError(f"The remote {remote} is at no forge, and the issue has no address that names one.")
    base = call_forge(target, target.resource).get("default_branch") or "main"
    _run_git(root, "push", remote, f"refs/heads/{branch}:refs/heads/{branch}")
    body = f"````text\n{summary_text(verdict)}\n````\n" if verdict else ""
    body += f"\nCloses #{issue.number}\n" if issue else ""
    owner = source.path.rpartition("/")[0] if source and source.path != target.path else ""
    answer = call_forge(
        target,
        f"{target.resource}/{target.forge.drafts}",
        _draft_fields(target.forge, base=base, branch=branch, owner=owner, title=title, body=body),
    )
    return _first(answer, "web_url", "html_url") or target.server


def _draft_fields(
    forge: Forge, *, base: str, branch: str, owner: str, title: str, body: str
) -> dict[str, object]:
    """Return the fields of a new draft; `owner` has the branch where that is another than the target's."""
    if forge is GITLAB:
        if owner:
            raise UserError(f"The branch {branch} is pushed to a fork; open its merge request there.")
        return {
            "source_branch": branch,
            "target_branch": base,
            "title": f"Draft: {title}",
            "description": body,
        }
    fields: dict[str, object] = {"head": f"{owner}:{branch}" if owner else branch, "base": base, "body": body}
    if forge is GITEA:  # it knows drafts by their title alone
        return {**fields, "title": f"WIP: {title}"}
    return {**fields, "title": title, "draft": True}


_REMOTE = re.compile(
    r"(?:(?P<scheme>https?)://(?:[^@/]*@)?|ssh://(?:[^@/]*@)?|(?:[^@/:]*@))"
    r"(?P<host>[^/:]+(?P<port>:\d+)?)[:/](?P<path>.+?)(?:\.git)?/?"
)


def _parse_remote(url: str) -> ForgeProject | None:
    """Return the project that a remote's URL names; None for a path."""
    match = _REMOTE.fullmatch(url)
    if match is None:
        return None
    is_web = match["scheme"] is not None
    host = match["host"] if is_web else match["host"].removesuffix(match["port"] or "")
    server = f"{match['scheme'] or 'https'}://{host}"
    return ForgeProject(forge=_guess_forge(host), server=server, path=match["path"])


def _run_git(root: Path, *arguments: str, accept: tuple[int, ...] = (0,)) -> str:
    """Run the user's own git, with their credentials and hooks, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    result = subprocess.run(
        ["git", "-C", str(root), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode not in accept:
        raise UserError(f"git {arguments[0]} failed: {' '.join(result.stderr.split())[-500:]}")
    return result.stdout.strip()


def call_forge(project: ForgeProject, path: str, payload: Mapping[str, object] | None = None) -> Any:
    """Return the JSON at a path below a forge's interface; a `payload` is posted there.

    Redirects are followed within the host, since no other one gets the token.

    Raises:
        UserError: it cannot be had.
    """
    token, forge = _find_token(project), project.forge
    if payload is not None and not token:
        raise UserError(
            f"{forge.name} takes no draft without a token, but the branch is pushed: {forge.login}."
        )
    headers = {"Accept": "application/json", "User-Agent": "coder"}
    headers |= {"Authorization": f"{forge.scheme} {token}"} if token else {}
    address = f"{project.api}/{path}"
    response, data = fetch(address, limit=LARGEST_BYTES, headers=headers, json=payload)
    if not response.is_success:
        login = "" if token else f" If it is private: {forge.login}."
        reason = " ".join(data.decode("utf-8", "replace")[:500].split())
        raise UserError(f"{address}: HTTP {response.status_code} {reason}{login}")
    try:
        return parse_json(data[:LARGEST_BYTES])
    except ValueError:
        raise UserError(f"{project.server} answers {path} with something that is no JSON.") from None


def fetch(
    address: str, *, limit: int, may_follow: Callable[[str], bool] | None = None, **content: Any
) -> "tuple[httpx2.Response, bytes]":
    """Return an answer over HTTP, and its content until that is longer than `limit` bytes.

    Redirects are followed where `may_follow` allows it, without it within the host. `content` is httpx's.

    Raises:
        UserError: the server does not answer.
    """
    import httpx2

    try:
        with httpx2.Client(timeout=SECONDS, trust_env=not is_loopback(address)) as client:
            request = client.build_request("POST" if content.get("json") else "GET", address, **content)
            follows = may_follow or (lambda url: httpx2.URL(url).netloc == request.url.netloc)
            response, data = client.send(request, stream=True), b""
            for _ in range(MOST_REDIRECTS):
                if (onward := response.next_request) is None or not follows(str(onward.url)):
                    break
                response = client.send(onward, stream=True)
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > limit:
                    break
            return response, data
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UserError(f"{address} could not be fetched: {error}.") from None


def _find_token(project: ForgeProject) -> str:
    """Return the token for a server, of the environment or the forge's program; empty without one."""
    forge = project.forge
    own_host = os.environ.get(forge.host_variable) or forge.host
    own_host = urlsplit(own_host).netloc or own_host
    if not (project.server.startswith("https://") or is_loopback(project.server)):
        return ""
    tokens = (os.environ.get(name) for name in forge.token_variables if own_host == project.host)
    if token := next(filter(None, tokens), ""):
        return token
    if not forge.token_command or not shutil.which(forge.token_command[0]):
        return ""
    # Outside of the repository, whose configuration it would read; without a token that is for another host.
    others = {name: value for name, value in os.environ.items() if name not in forge.token_variables}
    command = [*forge.token_command, project.host]
    closed = subprocess.DEVNULL
    try:
        return subprocess.check_output(
            command, cwd="/", env=others, timeout=SECONDS, text=True, stdin=closed, stderr=closed
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return ""
