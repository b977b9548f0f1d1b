"""High-risk files, which a user should review before a change is delivered, by globs of their paths."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from coder.core.paths import is_test_path

RISKY_GLOBS = {
    "CI": """.github/workflows/* .github/actions/* .gitlab-ci.yml .circleci/* .travis.yml Jenkinsfile .ci/*
        azure-pipelines.yml .woodpecker* .drone.yml .buildkite/* .cirrus.yml appveyor.yml
        .pre-commit-config.yaml""",
    "deployment": """Dockerfile* *.dockerfile docker-compose* compose.y*ml Procfile fly.toml vercel.json
        netlify.toml *.tf k8s/* kubernetes/* helm/* charts/* ansible/* deploy/* deployment/* serverless.yml
        Vagrantfile""",
    "lock file": """*.lock package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum gradle.lockfile
        requirements*.txt requirements/*.txt constraints*.txt""",
    "configuration": """pyproject.toml setup.py setup.cfg tox.ini pytest.ini noxfile.py conftest.py *.pth
        sitecustomize.py package.json Cargo.toml go.mod Makefile justfile build.rs .gitattributes .gitmodules
        .envrc .npmrc .vscode/* .idea/* .husky/* .devcontainer/* AGENTS.md CLAUDE.md .cursorrules
        .mcp.json""",
    "authentication": """*auth[./_-]* *Auth[A-Z]* *oauth* *authenti* *authori[sz]* authz* *login*
        *password* *permission* *credential* *saml* *jwt* *rbac* sso[./_-]* acl[./_-]*""",
    "payments": "*payment* *billing* *checkout* *invoic* *paypal* *payout* stripe*",
}
"""Globs by kind, of the path as it is or in lower case; they begin at any directory, `*` crosses them."""
SOURCE_KINDS = ("authentication", "payments")
"""Kinds that are about source code: tests of it are not high-risk."""


def high_risk_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that need a user's review, in order, each with its kind."""
    kinds = {path: risk_kind(path) for path in paths}
    return {path: kind for path, kind in kinds.items() if kind}


def risk_kind(path: str) -> str:
    """Return why a change of this path (relative to the root) needs review; empty where it does not."""
    forms = (f"/{path}", f"/{path.lower()}")
    for kind, globs in RISKY_GLOBS.items():
        if kind in SOURCE_KINDS and is_test_path(path):
            return ""
        if any(fnmatchcase(text, f"*/{glob}") for glob in globs.split() for text in forms):
            return kind
    return ""
