"""What fills the terminal: the session, and the questions that wait in front of it."""
