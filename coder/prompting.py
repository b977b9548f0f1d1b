"""Prompt templates of coder/prompts, rendered with jinja2."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from coder.permissions.secrets import fence_text

if TYPE_CHECKING:
    from jinja2 import Environment


def render_prompt(name: str, **values: object) -> str:
    """Render the prompt `name`.

    Raises:
        jinja2.UndefinedError: a placeholder has no value, which is a bug of the caller.
    """
    return _environment().get_template(name).render(**values).strip()


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(
            lambda name: (files("coder.prompts") / f"{name}.md").read_text(encoding="utf-8")
        ),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data"] = lambda text: fence_text(text.strip("\n"))
    return environment
