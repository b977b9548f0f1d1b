"""Advice after a failed verdict: another reader proposes the correction that the next attempt starts from."""

from collections.abc import Mapping
from dataclasses import replace

from coder.core.phases import PhaseName
from coder.core.state import FAILURE_REVIEWER
from coder.core.values.candidate import Candidate
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec
from coder.strategies.phases import PHASE_SPECS
from coder.strategies.review.review_phase import try_review


async def _open_diagnose(context: SessionContext, candidate: Candidate) -> str:
    text = await PHASE_SPECS["diagnose"].opening(context, candidate)
    advice = await try_review(context, candidate, FAILURE_REVIEWER)
    return f"{text}\n\n{context.prompts.render('advice', advice=advice)}" if advice else text


ADVISED_PHASE_SPECS: Mapping[PhaseName, PhaseSpec] = {
    **PHASE_SPECS,
    "diagnose": replace(PHASE_SPECS["diagnose"], opening=_open_diagnose),
}
"""Phases of a fix with advice from another reader before each diagnosis."""
