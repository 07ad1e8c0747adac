"""The fewest motions that bring a cluster to rest, each allowed when it is made.

Everything here is a function of its arguments: neither clock nor chance nor the number of threads changes a plan.
"""
