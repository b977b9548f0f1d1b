"""High-risk files, which a user should review before a change is delivered, by their names."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from coder.core.paths import is_test_path

RISKY_PATTERNS = {
    "CI": (
        *(
            ".github/workflows/*",
            ".github/actions/*",
            ".gitlab-ci.yml",
            ".circleci/*",
            ".travis.yml",
            "Jenkinsfile",
            "azure-pipelines.yml",
        ),
        *(
            ".woodpecker*",
            ".drone.yml",
            ".buildkite/*",
            ".cirrus.yml",
            "appveyor.yml",
            ".pre-commit-config.yaml",
            ".ci/*",
        ),
    ),
    "deployment": (
        *(
            "Dockerfile*",
            "*.dockerfile",
            "docker-compose*",
            "compose.y*ml",
            "Procfile",
            "fly.toml",
            "vercel.json",
            "netlify.toml",
            "*.tf",
        ),
        *(
            "k8s/*",
            "kubernetes/*",
            "helm/*",
            "charts/*",
            "ansible/*",
            "deploy/*",
            "deployment/*",
            "serverless.yml",
            "Vagrantfile",
        ),
    ),
    "lock file": (
        *(
            "*.lock",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "pnpm-lock.yaml",
            "go.sum",
            "requirements*.txt",
            "constraints*.txt",
        ),
        *("requirements/*.txt", "gradle.lockfile"),
    ),
    "configuration": (
        *(
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "tox.ini",
            "pytest.ini",
            "noxfile.py",
            "conftest.py",
            "sitecustomize.py",
            "*.pth",
        ),
        *(
            "package.json",
            "Cargo.toml",
            "go.mod",
            "Makefile",
            "justfile",
            "build.rs",
            ".gitattributes",
            ".gitmodules",
            ".envrc",
            ".npmrc",
        ),
        *(
            ".vscode/*",
            ".idea/*",
            ".husky/*",
            ".devcontainer/*",
            "AGENTS.md",
            "CLAUDE.md",
            ".cursorrules",
            ".mcp.json",
        ),
    ),
}
RISKY_WORDS = {
    "authentication": {
        *(
            "auth",
            "authentication",
            "authenticate",
            "authorization",
            "authz",
            "login",
            "logins",
            "oauth",
            "oauth2",
            "sso",
            "saml",
            "jwt",
        ),
        *("password", "passwords", "permission", "permissions", "credential", "credentials", "acl", "rbac"),
    },
    "payments": {
        "payment",
        "payments",
        "billing",
        "checkout",
        "invoice",
        "invoices",
        "invoicing",
        "stripe",
        "paypal",
        "payout",
        "payouts",
    },
}
"""Words in the paths of sensitive source files; their tests are not high-risk."""


def high_risk_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that need a user's review, in order, each with its kind."""
    kinds = {path: risk_kind(path) for path in paths}
    return {path: kind for path, kind in kinds.items() if kind}


def risk_kind(path: str) -> str:
    """Return why a change of this path (relative to the root) needs review; empty where it does not."""
    name = path.rpartition("/")[2]
    for kind, patterns in RISKY_PATTERNS.items():
        for pattern in patterns:
            if fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}") or fnmatchcase(name, pattern):
                return kind
    if is_test_path(path):
        return ""
    words = set(re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", path).lower()))
    return next((kind for kind, kind_words in RISKY_WORDS.items() if words & kind_words), "")
