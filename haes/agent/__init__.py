"""The agent: acts on one node what the leader ordered, and reports how it ended."""
