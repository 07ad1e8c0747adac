"""The manager's sense of load: when to move what where, what to leave out, and what to remember."""
