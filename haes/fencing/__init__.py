"""Fence devices: what cuts a node off from power or network, tried one device after the other."""
