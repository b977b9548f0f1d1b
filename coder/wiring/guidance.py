"""Instructions, Agent Skills and commands that a project and its user keep for coding agents.

https://agents.md and https://agentskills.io/specification; a project's own count only where it is trusted.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from coder.core.errors import CoderError, UserError
from coder.core.text import suggest_name
from coder.files.regular_files import config_directory, is_within, read_regular_text
from coder.repo.git import Git
from coder.session.phase import render_prompt
from coder.settings import is_trusted
from coder.workspace.workspace import SKILL_PREFIX

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Only the first one of a directory counts: the others usually repeat it."""
INSTRUCTIONS_CHARACTERS = 12_000
MOST_NESTED = 30
LIST_CHARACTERS = 8_000
"""Most characters of names and descriptions of skills that a model is told, about 2,000 tokens."""
DESCRIPTION_CHARACTERS = 1024
SKILL_NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*")
AGENT_DIRECTORIES = (".agents", ".claude")
CommandMode = Literal["fix", "do", "ask", "plan"]


@dataclass(frozen=True, kw_only=True)
class Skill:
    name: str
    description: str
    directory: Path


@dataclass(frozen=True, kw_only=True)
class CustomCommand:
    """A request that is kept as a Markdown file, with placeholders for the words after its name."""

    name: str
    description: str
    mode: CommandMode
    text: str

    def expand(self, words: str) -> str:
        """Return the request: `$ARGUMENTS` stands for all words, `$1` to `$9` for one each."""
        try:
            parts = shlex.split(words)
        except ValueError:  # an apostrophe in a sentence
            parts = words.split()
        values = {"ARGUMENTS": words, **{str(place): part for place, part in enumerate(parts, start=1)}}
        text, count = re.subn(
            r"\$(ARGUMENTS\b|[1-9](?!\d))", lambda match: values.get(match[1], ""), self.text
        )
        return text if count or not words else f"{text}\n\n{words}"


@dataclass(frozen=True, kw_only=True)
class Guidance:
    instructions: str = ""
    """Text for the first message to the model."""
    skills: Mapping[str, Path] = field(default_factory=dict)
    """Directories by the names of the skills."""
    problems: tuple[str, ...] = ()
    """Sentences for the user on what is passed over."""


def load_guidance(root: Path, start: Path, *, trusted: bool, git: Git) -> Guidance:
    """Return the instructions and skills for a session that was started in the directory `start`."""
    own = read_regular_text(config_directory() / "AGENTS.md", within=Path("/"))[:INSTRUCTIONS_CHARACTERS]
    files = dict(_read_instructions(root, start.resolve())) if trusted else {}
    nested = [path for path in _list_instructions(git) if path not in files] if trusted else []
    skills, problems = find_skills(root if trusted else None)
    if not (own or files or nested or skills):
        return Guidance(problems=problems)
    listed = _fit(skills)
    text = render_prompt(
        "instructions",
        own=own,
        files=files,
        nested=nested[:MOST_NESTED],
        skills=listed,
        omitted=[skill.name for skill in skills if skill not in listed],
    )
    return Guidance(
        instructions=text, skills={skill.name: skill.directory for skill in skills}, problems=problems
    )


def _read_instructions(root: Path, start: Path) -> Iterator[tuple[str, str]]:
    room = INSTRUCTIONS_CHARACTERS
    below = [parent for parent in (start, *start.parents) if parent.is_relative_to(root) and parent != root]
    for directory in (root, *reversed(below)):
        for name in INSTRUCTION_FILES:
            if text := read_regular_text(directory / name, within=root).strip()[:room]:
                room -= len(text)
                yield (directory / name).relative_to(root).as_posix(), text
                break


def _list_instructions(git: Git) -> Iterator[str]:
    """Yield the paths of all tracked instructions, one a directory."""
    try:
        output = git.call(
            *("ls-files", "-z", "--", *(f":(glob)**/{name}" for name in INSTRUCTION_FILES)),
            environment={"GIT_LITERAL_PATHSPECS": "0"},
        )
    except CoderError:
        return
    paths = os.fsdecode(output.stdout).split("\0")[:-1]
    ranked = sorted(paths, key=lambda path: INSTRUCTION_FILES.index(Path(path).name))
    yield from sorted({Path(path).parent: path for path in reversed(ranked)}.values())


def _fit(skills: tuple[Skill, ...]) -> list[Skill]:
    room, listed = LIST_CHARACTERS, []
    for skill in skills:
        room -= len(skill.name) + len(skill.description)
        if room < 0:
            break
        listed.append(skill)
    return listed


def find_skills(root: Path | None) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """Return the skills of a trusted project, then the user's own, and what is wrong with others.

    The first one of a name counts.
    """
    skills: dict[str, Skill] = {}
    problems = []
    for base, within in _places(root, "skills"):
        for file in sorted(base.glob("*/SKILL.md")):
            if within is not None and not is_within(file, within):
                problems.append(f"{file} is passed over: it is a link that leads out of the repository.")
                continue
            try:
                skill = _read_skill(file)
            except ValueError as error:
                problems.append(f"{file} is passed over: {error}.")
            else:
                skills.setdefault(skill.name, skill)
    return tuple(skills.values()), tuple(problems)


def _places(root: Path | None, kind: str) -> Iterator[tuple[Path, Path | None]]:
    """Return the readable directories of skills or commands, and what the files of each must not leave."""
    places: list[tuple[Path, Path | None]] = []
    if root is not None:
        places += [(root / name / kind, root) for name in AGENT_DIRECTORIES]
    places.append((config_directory() / kind, None))
    places += [(Path.home() / name / kind, None) for name in AGENT_DIRECTORIES]
    return ((base, within) for base, within in places if os.access(base, os.R_OK | os.X_OK))


def _read_skill(file: Path) -> Skill:
    """Return the skill that a SKILL.md describes."""
    fields, _ = _split_front_matter(read_regular_text(file, within=file.resolve().parent))
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        raise ValueError(f"its name {name!r} is not of lower-case letters, digits and single hyphens")
    if name != file.parent.name:
        raise ValueError(f"its name {name!r} is not that of its directory")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("it has no description")
    text = " ".join(description.split())[:DESCRIPTION_CHARACTERS]
    return Skill(name=name, description=text, directory=file.resolve().parent)


def _split_front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the YAML fields at the top of a Markdown file, and its body."""
    match = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if match is None:
        return {}, text.strip()
    import yaml  # type: ignore[import-untyped]  # loaded where a project or its user has skills or commands

    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"its front matter is no YAML ({' '.join(str(error).split())})") from None
    return fields if isinstance(fields, dict) else {}, text[match.end() :].strip()


def find_commands(root: Path, *, trusted: bool | None = None) -> dict[str, CustomCommand]:
    """Return the custom commands by name: those of a trusted project, then the user's own, then skills."""
    own_root = root if (is_trusted(root) if trusted is None else trusted) else None
    commands: dict[str, CustomCommand] = {}
    for base, within in _places(own_root, "commands"):
        for file in sorted(base.rglob("*.md")):
            if within is None or is_within(file, within):
                command = _read_command(file, base)
                commands.setdefault(command.name, command)
    for skill in find_skills(own_root)[0]:
        text = f'Follow the skill {skill.name}: read(path="{SKILL_PREFIX}{skill.name}").'
        command = CustomCommand(name=skill.name, description=skill.description, mode="do", text=text)
        commands.setdefault(skill.name, command)
    return commands


def _read_command(file: Path, base: Path) -> CustomCommand:
    """Return the command of a file; the folders that it lies in become parts of its name."""
    try:
        fields, body = _split_front_matter(read_regular_text(file, within=file.resolve().parent))
    except ValueError:
        fields, body = {}, ""
    mode = fields.get("mode", "do")
    hint, description = fields.get("argument-hint"), fields.get("description")
    about = " ".join(str(part) for part in (hint, description or body.partition("\n")[0]) if part)
    return CustomCommand(
        name=":".join(file.relative_to(base).with_suffix("").parts),
        description=" ".join(about.split())[:DESCRIPTION_CHARACTERS],
        mode=mode if mode in get_args(CommandMode) else "do",
        text=body,
    )


def require_command(root: Path, name: str, *, trusted: bool) -> CustomCommand:
    """Return a custom command.

    Raises:
        UserError: there is none of this name, it is empty, or the repository that has it is not trusted.
    """
    commands = find_commands(root, trusted=trusted)
    if name in commands:
        if not commands[name].text:
            raise UserError(f"The command {name} says nothing, or its front matter is no YAML.")
        return commands[name]
    if not trusted and name in find_commands(root, trusted=True):
        raise UserError(
            f"{name} is a command of this repository, which is not trusted. If it is yours: "
            f"coder trust {root}"
        )
    names = suggest_name(name, commands)
    raise UserError(
        f"There is no command {name!r}. {names}Commands are Markdown files in .agents/commands or "
        f".claude/commands of a trusted repository, or in {config_directory() / 'commands'}."
    )
