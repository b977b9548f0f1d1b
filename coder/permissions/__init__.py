"""Permission checks: commands, secrets, private files, risky paths, and marking of untrusted text."""
