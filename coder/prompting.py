"""Prompt templates of coder/prompts, rendered with jinja2."""

from functools import cached_property
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from coder.permissions.secrets import fence_text


class PackagedPrompts:
    """Prompt templates that come with coder."""

    @cached_property
    def _environment(self) -> Environment:
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

    def render(self, name: str, **values: object) -> str:
        """Render the prompt `name`.

        Raises:
            jinja2.UndefinedError: a placeholder has no value, which is a bug of the caller.
        """
        return self._environment.get_template(name).render(**values).strip()
