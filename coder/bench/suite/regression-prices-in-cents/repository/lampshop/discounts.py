"""Discounts."""


def discounted(amount, percent):
    """Cents after a discount, rounded in the customer's favour."""
    return amount * (100 - percent) // 100
