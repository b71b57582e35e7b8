"""What a subscription costs. All amounts are in cents."""

TIERS = {
    "basic": 1900,
    "team": 4900,
    "business": 9900,
}

# Twelve months for the price of ten.
ANNUAL_MONTHS = 10


def monthly(tier, seats):
    """The price of one month."""
    return TIERS[tier] * seats


def annual(tier, seats):
    """The price of one year, paid at once."""
    return monthly(tier, seats) * ANNUAL_MONTHS
