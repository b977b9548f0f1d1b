"""Repair without a model: fault localization, candidate edits, search, and classes of edits by behavior.

`strategies/offline.py` asks the Proposer port, implemented by `repair/proposer.py`:

0. **Reproduce**: without a failing test, the issue's own example (`X returns A instead of B`) is run on
   the untouched code, twice; where it gives A it becomes a failing test (`verify/example.py`).
1. **Localize** (`localization.py`): Ochiai suspiciousness from the coverage of failing and passing tests.
   Where tests cannot be collected, the traceback stands for coverage.
2. **Generate** (`candidates.py`): small text edits by rules, which are data (`rules.py`), and by templates
   that need scope (`templates.py`), also at every equal place of a function. They are ordered by suspicion
   and by how often a family was right in real fixes, one table of counts.
3. **Try**: a process that has collected the tests forks for each candidate (`warm/trials.py`).
4. **Compare**: what passes is grouped by its answers to the tests' calls and to variations of them
   (`behavior/comparison.py`), plainest first. One class is judged like any change. Several are PASSING: the
   first is delivered, the call that decides is shown, and each can be applied.
5. **Prove**: what is offered is judged and delivered as any fix. Tests that it breaks guard a second
   search. Where nothing passes, the issue's example stays on a branch as a failing test.

With a model, `strategies/offline.py` gives this search ten seconds if a test of the issue fails already:
one class that is FIXED saves the bill, anything else becomes a hint in the first message, with the
deciding call. `coder locate --tests` exposes the localization alone.
"""
