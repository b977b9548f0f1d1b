"""Tree of code: branching of candidates and beam search over them."""
