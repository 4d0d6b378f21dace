"""Jobs: the queue, leases, the ledger of observations, and the events of each job."""
