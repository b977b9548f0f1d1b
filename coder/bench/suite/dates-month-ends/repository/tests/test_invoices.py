from datetime import date
from decimal import Decimal

from billing.invoices import owed


def test_owed():
    assert owed("9.50", date(2023, 1, 1), date(2023, 3, 1)) == Decimal("28.50")
