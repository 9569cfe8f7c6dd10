"""What a deploy costs the consumer beside this file; `pytest` plays it, in about a minute."""


def test_orders_survive_a_deploy(kafka_chaos):
    """Each process is replaced, one after the other, while records come in."""
    result = kafka_chaos.run("rolling-deploy", app="app.toml")

    assert result.standstill_s <= 10
    assert result.lost == 0
