"""The event log: the port, its implementations in memory and on Redis, leases and fencing. Knows nothing about HA."""
