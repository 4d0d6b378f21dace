"""Evidence that anyone can check: Merkle trees, signed envelopes, exports and their verification."""
