"""Instructions, skills and commands of a project and its user."""

from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo.git import find_git
from coder.wiring.extensions import (
    Guidance,
    find_commands,
    find_skills,
    load_guidance,
    require_command,
)
from tests.builders import repo, write

SKILL = "---\nname: {name}\ndescription: {description}\n---\n# How\nUse the tool.\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path / "home"


def guidance_of(root: Path, *, start: str = ".", trusted: bool = True) -> Guidance:
    return load_guidance(root, root / start, trusted=trusted, git=find_git(root))


def skill_file(name: str, description: str = "Use it for PDF files.") -> dict[str, str]:
    return {f"{name}/SKILL.md": SKILL.format(name=name, description=description)}


def test_one_file_of_instructions_a_directory_counts(tmp_path: Path, home: Path) -> None:
    files = {
        "AGENTS.md": "Root rules.\n",
        "CLAUDE.md": "Other rules.\n",
        "api/CLAUDE.md": "Rules of the API.\n",
        "web/GEMINI.md": "Rules of the web.\n",
        "web/deep/AGENTS.md": "Deep rules.\n",
        "web/deep/GEMINI.md": "Deep rules again.\n",
        "api/src/a.py": "",
    }
    root = repo(tmp_path / "repository", files)
    write(home, {".config/coder/AGENTS.md": "Answer briefly."})
    assert guidance_of(root, start="api/src").instructions == (
        "# The user's instructions\nAnswer briefly.\n\n"
        "# The project's instructions for contributors (AGENTS.md)\nRoot rules.\n\n"
        "# The project's instructions for contributors (api/CLAUDE.md)\nRules of the API.\n\n"
        "# Instructions for parts of the project\n"
        "Read those beside or above a file before you change it: web/GEMINI.md, web/deep/AGENTS.md"
    )
    own = guidance_of(root, trusted=False).instructions
    assert own == "# The user's instructions\nAnswer briefly."


def test_model_sees_names_and_descriptions_of_skills_only(tmp_path: Path, home: Path) -> None:
    root = repo(tmp_path / "repository", {"a.py": ""})
    write(root / ".agents/skills", skill_file("pdf"))
    write(
        root / ".claude/skills",
        skill_file("pdf", "Another one.") | skill_file("tests", ">\n  Folded\n  text."),
    )
    write(home / ".agents/skills", skill_file("pdf", "The user's.") | skill_file("own", "'Mine: all'"))
    guidance = guidance_of(root)
    assert [*guidance.skills] == ["pdf", "tests", "own"]
    assert guidance.skills["pdf"] == root / ".agents/skills/pdf"
    assert "- pdf: Use it for PDF files.\n- tests: Folded text.\n- own: Mine: all" in guidance.instructions
    assert "Use the tool" not in guidance.instructions
    assert [*guidance_of(root, trusted=False).skills] == ["own", "pdf"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("No front matter.\n", "its name None is not of lower-case letters"),
        ("---\nname: Pdf\ndescription: x\n---\n", "its name 'Pdf' is not of lower-case letters"),
        ("---\nname: other\ndescription: x\n---\n", "its name 'other' is not that of its directory"),
        ("---\nname: pdf\n---\n", "it has no description"),
        ("---\nname: pdf\ndescription: [\n---\n", "its front matter is no YAML"),
        ("---\nname: pdf\ndescription: !!python/object:os.system x\n---\n", "its front matter is no YAML"),
    ],
)
def test_passes_over_invalid_skill(tmp_path: Path, home: Path, text: str, problem: str) -> None:
    write(home / ".agents/skills/pdf", {"SKILL.md": text})
    skills, problems = find_skills(None)
    assert skills == () and problem in problems[0]


def test_command_is_filled_with_words(tmp_path: Path, home: Path) -> None:
    front = "---\ndescription: Look at a part\nargument-hint: PART\nmode: ask\n---\n"
    write(
        home / ".config/coder/commands",
        {
            "look.md": f"{front}Look at $1, not $2, in $ARGUMENTS; $10 stays.\n",
            "web/plain.md": "Make it so.\n",
            "odd.md": "---\nmode: [\n---\nOdd.\n",
        },
    )
    root = repo(tmp_path / "repository", {"a.py": ""})
    commands = find_commands(root)
    assert {name: (found.mode, found.description) for name, found in commands.items()} == {
        "look": ("ask", "PART Look at a part"),
        "odd": ("do", ""),
        "web:plain": ("do", "Make it so."),
    }
    assert commands["look"].expand("'a b' c") == "Look at a b, not c, in 'a b' c; $10 stays."
    assert commands["look"].expand("it's") == "Look at it's, not , in it's; $10 stays."
    assert commands["web:plain"].expand("") == "Make it so."
    assert commands["web:plain"].expand("Now.") == "Make it so.\n\nNow."
    with pytest.raises(UserError, match="The command odd says nothing"):
        require_command(root, "odd", trusted=True)
    with pytest.raises(UserError, match=r"no command 'lok'. Did you mean look\?"):
        require_command(root, "lok", trusted=True)
