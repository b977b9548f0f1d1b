"""Rules that read a change and its reports for what a test result alone does not show."""
