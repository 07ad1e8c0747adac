"""The log in memory keeps the promises of the port."""

import pytest

from tests.events.contract import LogContract
from tests.events.hands import MemoryHands


class TestMemoryLog(LogContract):
    """The contract, in memory."""

    @pytest.fixture
    async def hands(self) -> MemoryHands:
        """Provides an empty log."""
        hands = MemoryHands()
        await hands.log.open()
        return hands
