"""The wizard that asks for a rating in five steps: kind, where, what, how sure, confirm."""
