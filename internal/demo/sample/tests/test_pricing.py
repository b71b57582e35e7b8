from api.pricing import annual, monthly


def test_annual_is_ten_months():
    assert annual("basic", 3) == 10 * monthly("basic", 3)
