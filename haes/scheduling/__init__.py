"""Loads, imbalance, the best motions and the best node for a start: exact, and fast at ten thousand resources.

Everything here works on arrays and knows neither events nor rules: what rules forbid simply is no candidate.
"""
