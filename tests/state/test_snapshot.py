"""Snapshots of a state: they equal the fold, whenever they are taken, and restoring goes on from them."""

from pathlib import Path

import pytest

from events.url import connect
from haes.simulation.run import simulate
from haes.simulation.scenario import load_scenario
from haes.state.restore import restore_state, save_state
from haes.state.snapshot import FINGERPRINT, decode_state, encode_state

SCENARIOS = Path(__file__).parent.parent / "scenarios" / "data"
SAMPLE = sorted(folder.name for folder in SCENARIOS.iterdir())[::7] if SCENARIOS.is_dir() else []


@pytest.mark.parametrize("name", SAMPLE)
async def test_a_snapshot_equals_the_full_fold(name: str) -> None:
    """A state that went through bytes is the state that the whole stream folds to."""
    async with connect("memory:", "main") as log:
        state = await simulate(load_scenario(SCENARIOS / name), log, lambda _event: None)
        again = decode_state(encode_state(state))
        assert again is not None
        assert again.to_data() == state.to_data() == (await restore_state(log)).to_data()


async def test_restoring_goes_on_from_the_latest_snapshot() -> None:
    """With snapshots at any places, restoring to any event gives what folding up to it gives."""
    async with connect("memory:", "main") as log:
        state = await simulate(load_scenario(SCENARIOS / "fa109"), log, lambda _event: None)
        plain = {n: (await restore_state(log, n)).to_data() for n in (1, 40, 77, state.n)}
        for n in (30, 60):
            assert await save_state(log, await restore_state(log, n))
        assert await log.snapshot_numbers() == [30, 60]
        for n, expected in plain.items():
            assert (await restore_state(log, n)).to_data() == expected


def test_bytes_of_other_records_are_not_read() -> None:
    """Bytes that another program's records made, or damaged ones, count as no snapshot at all."""
    import msgpack  # noqa: PLC0415 - only here the bytes are made by hand

    assert decode_state(b"damaged") is None
    assert decode_state(msgpack.packb(["another" + FINGERPRINT, {}])) is None
