"""Several targets as one: chains, and the roles of a job."""
