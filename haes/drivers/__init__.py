"""How a resource is really started, stopped, moved and checked."""
