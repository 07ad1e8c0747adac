"""Samples of load on their way from agents to the leader: written beside the log, read on as they come."""

from events.log.side import START_ID, SideStreams
from haes.telemetry import STREAM, Sample, SampleWindow, encode

# Entries that the stream keeps at most: 16 nodes that sample every second, for an hour.
KEPT = 60_000
# Seconds that samples are kept: long against any window, so that a new leader knows what its predecessor knew.
MAX_AGE = 3600.0


async def publish(side: SideStreams, sample: Sample) -> str:
    """Writes a sample and returns its name."""
    return await side.add(STREAM, encode(sample), keep=KEPT, max_age=MAX_AGE)


class LoadWindow(SampleWindow):
    """The samples of the last so many seconds, as a leader reads them."""

    def __init__(self) -> None:
        super().__init__()
        self._position = START_ID

    async def read(self, side: SideStreams, window: float) -> None:
        """Reads what is new and lets go of what is older than the window, counted from the newest sample."""
        for entry in await side.read_all(STREAM, self._position):
            self.add(entry)
            self._position = entry.id
        self.forget(window)
