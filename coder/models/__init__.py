"""Language models behind the Model port: which there are, how to reach them, and doubles for tests."""
