"""Registry of the tools, in a fixed order: prompt caches depend on it."""

from coder.tools.apply_patch import apply_patch
from coder.tools.dependents import dependents
from coder.tools.find_symbol import find_symbol
from coder.tools.git_history import git_history
from coder.tools.hand_over import hand_over, hand_over_components, hand_over_findings, hand_over_plan
from coder.tools.hand_over_research import (
    hand_over_evaluation,
    hand_over_report,
    hand_over_research,
    hand_over_research_plan,
)
from coder.tools.list_files import list_files
from coder.tools.locate_fault import locate_fault
from coder.tools.outline import outline
from coder.tools.read import read
from coder.tools.run_command import run_command
from coder.tools.run_tests import run_tests
from coder.tools.search import search
from coder.tools.tests_for import tests_for
from coder.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    search,
    find_symbol,
    dependents,
    tests_for,
    outline,
    read,
    list_files,
    apply_patch,
    run_tests,
    locate_fault,
    run_command,
    git_history,
    hand_over,
)

READING_TOOLS = tuple(
    tool for tool in TOOLS if not (tool.writes or tool.asks) and tool.name not in ("run_tests", "hand_over")
)
PLANNING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_plan)
"""For planners, which change nothing."""
ARCHITECT_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_components)
"""For planners of new code."""
REVIEWING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_findings)
"""For reviewers, which run nothing."""
RESEARCH_PLANNING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_research_plan)
RESEARCHING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_research)
EVALUATING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_evaluation)
SYNTHESIZING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_report)
"""For the roles of a research, none of which writes or runs anything."""
