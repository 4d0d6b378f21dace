"""What is done about a job: the only package that calls out."""
