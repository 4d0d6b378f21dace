"""Any HTTP interface, described by the job."""
