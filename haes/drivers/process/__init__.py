"""Services that are command lines: a node's keeper owns them, so that they outlive the agent but not its lease."""
