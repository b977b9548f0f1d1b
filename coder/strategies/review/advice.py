"""Advice after a failed verdict: another reader proposes the correction that the next attempt starts from."""

from collections.abc import Mapping
from dataclasses import replace

from coder.core.phases import PhaseName
from coder.core.state import ADVISER
from coder.core.values.candidate import Candidate
from coder.session.context import Kit
from coder.session.phase import Purpose
from coder.strategies.phases import PURPOSES
from coder.strategies.review.review_phase import opinion


async def _open_diagnose(context: Kit, candidate: Candidate) -> str:
    text = await PURPOSES["diagnose"].opening(context, candidate)
    advice = await opinion(context, candidate, ADVISER)
    return f"{text}\n\n{context.prompts.render('advice', advice=advice)}" if advice else text


ADVISED: Mapping[PhaseName, Purpose] = {
    **PURPOSES,
    "diagnose": replace(PURPOSES["diagnose"], opening=_open_diagnose),
}
"""Phases of a fix with advice from another reader before each diagnosis."""
