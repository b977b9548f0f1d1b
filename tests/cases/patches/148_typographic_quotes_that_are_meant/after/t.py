def hi():
    """Greet - politely."""
    say("it’s me – again")
    return "bye..."
