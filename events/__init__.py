"""What happened: events, their encoding, and the log that keeps them. Knows nothing about HA."""
