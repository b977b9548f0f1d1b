"""The parts of the screens, each with its own file."""
