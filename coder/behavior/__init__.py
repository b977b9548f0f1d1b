"""Comparison of what a change does: calls that tests make, varied and repeated on base and change.

`runs.py` collects the answers, in place (by forks of the test process) and outside of any test; modules in
`target/` run in the project's interpreter. `comparison.py` turns the answers into findings and examples. The
contract is that of the verdict: tests say whether the issue is gone, behavior says what else the change does.
"""
