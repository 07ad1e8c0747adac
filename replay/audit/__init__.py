"""Proof that a record is whole: seals over ranges of the stream, anchored outside of it, and reports for auditors."""
