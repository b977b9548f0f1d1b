"""Template-based program repair without a model: fault localization, candidate edits, search and ranking.

`strategies/offline.py` asks the Proposer port, implemented by `repair/proposer.py`:

1. **Localize** (`fault_localization.py`): Ochiai suspiciousness from the coverage of failing and passing
   tests. Where tests cannot be collected, the traceback stands for coverage. `fault.py` is a fault as tests
   show it.
2. **Generate** (`candidates.py`): small text edits by template, code copied from the same file
   (`generators/`), the same edit at every similar place, and pairs of edits.
3. **Try** (`search.py`): a warm test process forks once for each candidate (`verify/warm.py`).
4. **Rank**: survivors answer calls recorded from the tests, varied calls, and the documentation's examples
   (`verify/target/trials/coder_compare.py`). Those that answer alike form one cluster (`clusters.py`);
   code smells and disguised deletions count against an edit (`credibility.py`). Where no cluster outweighs
   the others none is offered: they are shown, with a call on which they differ.
5. **Prove**: what is offered is judged and delivered as any fix. Tests that it breaks guard a second
   search.

With a model, `strategies/offline.py` gives this search ten seconds if a test of the issue fails already: a
PROVEN edit saves the bill, anything else becomes an unproven hint in the first message.
`coder locate --tests` exposes the localization alone.
"""
