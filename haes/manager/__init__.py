"""The manager: what a leader decides in a round, and how a manager comes to lead."""
