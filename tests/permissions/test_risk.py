import pytest

from coder.session.review import risk_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".github/workflows/tests.yml", "CI"),
        ("docker/Dockerfile.prod", "deployment"),
        ("uv.lock", "lock file"),
        ("pyproject.toml", "configuration"),
        ("tests/conftest.py", "configuration"),
        ("shop/payments/refund.py", "payments"),
        ("api/LoginForm.py", "authentication"),
        ("api/AuthService.java", "authentication"),
        ("django/contrib/auth/forms.py", "authentication"),
    ],
)
def test_risky_path_has_reason(path: str, kind: str) -> None:
    assert risk_kind(path) == kind


@pytest.mark.parametrize(
    "path",
    [
        "src/authlib/parser.py",
        "tests/test_login.py",
        "worklog/periods.py",
        "docs/agents.md",
        "author/names.py",
    ],
)
def test_ordinary_files_have_no_risk(path: str) -> None:
    assert risk_kind(path) == ""
