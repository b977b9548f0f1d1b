"""Invoices as text."""

from lampshop.catalogue import price
from lampshop.discounts import discounted
from lampshop.money import written


def invoice(cart, *, percent=0):
    """Lines for each article, then the total."""
    lines = [f"{count} x {article}: {written(price(article) * count)}" for article, count in cart.articles.items()]
    total = discounted(cart.total(), percent)
    if percent:
        lines.append(f"Discount: {percent} %")
    lines.append(f"Total: {total:.2f}")
    return "\n".join(lines)
