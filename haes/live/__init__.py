"""The live shell: the core in asyncio processes on a log that they share, with real leases, clocks and faults."""
