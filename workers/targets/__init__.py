"""Services that are rated: the protocols that they speak, their settings, and what is asked of them before a job."""
