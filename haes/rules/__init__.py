"""Affinity rules and old-style groups: read, check, complete, compile."""
