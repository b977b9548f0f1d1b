"""Tool specifications as models see them: a changed prompt is a change of tests/tools/specs.json."""

import json
from pathlib import Path

import pytest

from coder.core.errors import ToolError
from coder.tools.registry import TOOLS
from tests.tools.fakes import call_refused_tool, workspace

SNAPSHOT = Path(__file__).parent / "specs.json"


def test_specs_match_snapshot() -> None:
    """To accept a change, write `json.dumps(specs, indent=2)` and a newline into the file, and read the
    difference.
    """
    specs = [tool.spec.model_dump(mode="json") for tool in TOOLS]
    assert specs == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def test_schemas_are_flat_enough_for_providers() -> None:
    allowed = {"type", "description", "default", "enum", "items"}
    for tool in TOOLS:
        schema = tool.spec.parameters
        assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
        for field in schema["properties"].values():
            assert set(field) <= allowed
            assert field["type"] in ("string", "integer", "boolean", "array")


def test_only_patches_write_and_only_commands_ask() -> None:
    assert [tool.name for tool in TOOLS if tool.writes] == ["apply_patch"]
    assert [tool.name for tool in TOOLS if tool.asks] == ["run_command"]


def test_lone_surrogates_never_reach_tool(tmp_path: Path) -> None:
    for tool in TOOLS:
        required = {name: "\udcff" for name in tool.spec.parameters.get("required", ())} or {"path": "\udcff"}
        assert "half of a surrogate pair" in call_refused_tool(tool, workspace(tmp_path), **required)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"patch": "x"}),
        ("read", {"file_path": "x", "line": 3}),
        ("run_command", {"cmd": "x"}),
        ("search", {"query": "x"}),
    ],
)
def test_one_argument_under_another_name_is_understood(tool: str, arguments: dict[str, object]) -> None:
    found = next(item for item in TOOLS if item.name == tool)
    required = found.spec.parameters["required"][0]
    assert found.validate_arguments(json.dumps(arguments))[required] == "x"


@pytest.mark.parametrize(
    "arguments", [{"file": "x", "name": "y"}, {"path": "x", "file": "y"}, {"file": 3}, {"description": "x"}]
)
def test_arguments_of_no_known_meaning_are_refused(arguments: dict[str, object]) -> None:
    found = next(item for item in TOOLS if item.name == "read")
    with pytest.raises(ToolError, match="do not fit"):
        found.validate_arguments(json.dumps(arguments))
