"""The change under judgement, the runs of tests on it, and the tests of its base."""
