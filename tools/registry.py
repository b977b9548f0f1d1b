"""Registry of the tools, in a fixed order: prompt caches depend on it."""

from coder.tools.apply_patch import apply_patch
from coder.tools.git_history import git_history
from coder.tools.hand_over import (
    hand_over,
    hand_over_components,
    hand_over_evaluation,
    hand_over_findings,
    hand_over_plan,
    hand_over_report,
    hand_over_research,
    hand_over_research_plan,
)
from coder.tools.read import read
from coder.tools.run_command import run_command
from coder.tools.run_tests import run_tests
from coder.tools.search import search
from coder.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (search, read, apply_patch, run_tests, run_command, hand_over)

READING_TOOLS: tuple[Tool, ...] = (search, read, git_history)
"""For those who change nothing and run nothing; who runs commands has git itself."""
PLANNING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_plan)
ARCHITECT_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_components)
"""For planners of new code."""
REVIEWING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_findings)
RESEARCH_PLANNING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_research_plan)
RESEARCHING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_research)
EVALUATING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_evaluation)
SYNTHESIZING_TOOLS: tuple[Tool, ...] = (*READING_TOOLS, hand_over_report)
"""For the roles of a research."""
