"""Results of test runs: reports, comparison, triage, reasons and summaries of failures."""
