"""Python source code: parsing, fingerprints, source spans, and static checks without running it."""
