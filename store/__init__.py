"""Storage of jobs, observations, ratings, targets, corpora, webhooks and keys; no other package uses SQL."""
