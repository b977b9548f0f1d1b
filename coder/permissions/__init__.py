"""Permission checks: command rules, shell parsing, secrets, private files, risky paths, and marking of
untrusted text."""
