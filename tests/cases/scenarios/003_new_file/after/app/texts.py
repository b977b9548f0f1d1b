"""What is said, by language."""

TEXTS = {"en": "Hello, {name}!"}
