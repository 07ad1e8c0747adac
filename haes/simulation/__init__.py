"""The simulation shell: a whole cluster on a virtual clock, running the very core that the live shell runs."""
