"""What a deploy costs mended.py; `pytest` plays it."""


def test_a_deploy_stops_nothing_for_long_and_repeats_little(kafka_chaos):
    result = kafka_chaos.run("rolling-deploy", app="mended.toml")

    assert result.finding != "does-not-leave"
    assert result.standstill_s <= 10
    assert result.repeats <= 100
