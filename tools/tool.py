"""Decorator that makes a function a tool, defined by its signature and docstring."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from coder.core.errors import ToolError
from coder.core.notes import Note
from coder.core.text import parse_json
from coder.core.values import ToolSpec

OTHER_NAMES = frozenset(
    {"cmd", "file", "file_path", "filename", "input", "patch", "query", "regex", "script", "text"}
)
"""Names of the one required argument in tools that models know from elsewhere."""
UNSENT_KEYS = ("title", "anyOf", "minLength", "minItems", "maxItems")


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function that a model may call."""

    name: str
    function: Callable[..., str | Note]
    """Returns the answer to the call, or the note that ends the phase."""
    arguments: type[BaseModel]
    description: str
    writes: bool
    """Changes files of the worktree."""
    asks: bool
    """The user is asked before each call."""
    subject: str = ""
    """Name of the argument that names the tool of an MCP server which is called."""
    schema: Mapping[str, Any] | None = None
    """Of a tool of an MCP server: the JSON schema of its arguments, which that server checks."""

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as sent to a model."""
        parameters = self.schema or _simplify_schema(self.arguments.model_json_schema())
        return ToolSpec(name=self.name, description=self.description, parameters=parameters)

    def called_server_tool(self, arguments: Mapping[str, Any]) -> str:
        """Return the tool of an MCP server that a call is about; empty for tools of coder's own."""
        if self.subject:
            return str(arguments[self.subject])
        return "" if self.schema is None else self.name

    def validate_arguments(self, arguments: str) -> dict[str, Any]:
        """Validate the JSON text against the signature.

        Raises:
            ToolError: it does not fit.
        """
        try:
            payload = parse_json(arguments or "{}", strict=False)
            json.dumps(payload, ensure_ascii=False).encode("utf-8")
            payload = {"arguments": payload} if self.schema is not None else self._rename_argument(payload)
            values = self.arguments.model_validate(payload)
        except json.JSONDecodeError as error:
            fault = f"are not valid JSON ({error.msg} at character {error.pos} of {len(arguments)})"
        except RecursionError:
            fault = "nest too deep"
        except UnicodeEncodeError:
            fault = "hold half of a surrogate pair: write that character whole"
        except ValidationError as error:
            faults = (
                f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
                for fault in error.errors()[:5]
            )
            fault = f"do not fit: {'; '.join(faults)}"
        else:
            return {name: getattr(values, name) for name in self.arguments.model_fields}
        raise ToolError(
            f"The arguments of {self.name} {fault}. Nothing was done. Send one JSON object: {self.usage}"
        )

    def _rename_argument(self, payload: object) -> object:
        """Return arguments with the missing required one, if it was sent under a name of `OTHER_NAMES`."""
        if not isinstance(payload, dict):
            return payload
        fields = self.arguments.model_fields
        lacking = [name for name, field in fields.items() if field.is_required() and name not in payload]
        match lacking, [name for name in payload if name not in fields]:
            case [name], [other] if other in OTHER_NAMES and isinstance(payload[other], str):
                return {name if key == other else key: value for key, value in payload.items()}
        return payload

    @property
    def usage(self) -> str:
        """The signature in one line, such as `read(path: string, line?: integer)`."""
        schema = self.spec.parameters
        required = schema.get("required", [])
        parts = (
            f"{name}{'' if name in required else '?'}: "
            f"{'|'.join(field['enum']) if 'enum' in field else field.get('type', 'any')}"
            for name, field in schema.get("properties", {}).items()
        )
        return f"{self.name}({', '.join(parts)})"


class ServerArguments(BaseModel):
    """Arguments of a tool of an MCP server, which checks them itself."""

    arguments: dict[str, Any]


def tool(
    *, name: str = "", writes: bool = False, asks: bool = False, subject: str = ""
) -> Callable[[Callable[..., str | Note]], Tool]:
    """Make `function(workspace, ...)` a Tool, named after the function unless `name` is given.

    The docstring is the description that the model reads; its `Args:` section describes each argument.

    Raises:
        TypeError: an argument has no type or no description.
    """

    def build(function: Callable[..., str | Note]) -> Tool:
        description, descriptions = _parse(inspect.getdoc(function) or "")
        fields: dict[str, Any] = {}
        for parameter in list(inspect.signature(function, eval_str=True).parameters.values())[1:]:
            if parameter.annotation is parameter.empty or parameter.name not in descriptions:
                raise TypeError(
                    f"{function.__name__}: argument {parameter.name} needs a type and a line under Args:"
                )
            default = ... if parameter.default is parameter.empty else parameter.default
            field = Field(default, description=descriptions[parameter.name])
            fields[parameter.name] = (parameter.annotation, field)
        title = name or function.__name__
        return Tool(
            name=title,
            function=function,
            arguments=create_model(title, __config__=ConfigDict(extra="forbid"), **fields),
            description=description,
            writes=writes,
            asks=asks,
            subject=subject,
        )

    return build


def _parse(docstring: str) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into its text and its argument descriptions."""
    text, _, section = docstring.partition("\nArgs:\n")
    descriptions: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if match := re.match(r" {4}(\w+): (.*)", line):
            name = match[1]
            descriptions[name] = match[2].strip()
        elif name and line.startswith(" " * 8):
            descriptions[name] += " " + line.strip()
    return text.strip(), descriptions


def _simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop titles, limits and empty defaults, and turn `X or null` into X: every provider accepts the rest."""
    if "anyOf" in schema:
        schema = {**schema, **next(option for option in schema["anyOf"] if option.get("type") != "null")}
    reduced = {
        key: value for key, value in schema.items() if key not in UNSENT_KEYS and (key != "default" or value)
    }
    if "properties" in reduced:
        reduced["properties"] = {
            name: _simplify_schema(field) for name, field in reduced["properties"].items()
        }
    if "items" in reduced:
        reduced["items"] = _simplify_schema(reduced["items"])
    return reduced
