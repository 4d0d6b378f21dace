"""The wizard that requests a rating in five steps: kind, address, method, precision, confirmation."""
