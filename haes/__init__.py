"""What to do: the core that decides, the shells that run it, and the command line."""
