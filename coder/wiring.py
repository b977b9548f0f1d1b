"""The one place that names concrete classes and hands them to each other."""

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coder import __version__
from coder.core.candidate import Candidate
from coder.core.errors import UserError
from coder.core.ports import Repository
from coder.core.task import Task
from coder.loop.approval import Approval
from coder.loop.kit import Kit
from coder.loop.log import EventLog
from coder.loop.purse import Purse
from coder.loop.session import Session
from coder.models.catalog import FORMS, Choice, choose
from coder.models.opening import open_model
from coder.prompting import PackagedPrompts
from coder.repo.git import find
from coder.settings import Config, config, settings, state_directory
from coder.store.jsonl import SessionStore
from coder.strategies.follow import DIRECT, follow
from coder.tools.registry import TOOLS
from coder.tools.workspace import Workspace

NO_MODEL = (
    "There is no model to ask: no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY, OPENROUTER_API_KEY) and no model server runs "
    "on this machine (Ollama, llama.cpp, LM Studio, vLLM). Set a key, start a server, or give --base-url."
)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A session ready to run."""

    id: str
    session: Session
    log: EventLog
    model: str
    reason: str
    """Why this model."""


def sessions_directory() -> Path:
    return state_directory() / "sessions"


def repository_root(directory: Path) -> Path:
    """The root of the checkout that `directory` lies in.

    Raises:
        UserError: there is none, or it cannot be worked on.
    """
    return find(directory).root


def configured(root: Path | None, flags: Mapping[str, Any]) -> Config:
    return config(settings(root, flags=flags))
