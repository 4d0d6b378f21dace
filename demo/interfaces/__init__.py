"""The protocols that the demonstration's services speak."""
