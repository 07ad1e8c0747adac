"""Loads, imbalance, the best motions and the best node for a start."""
