"""From measured effects to a rating: components, the decision, aggregation, documents and comparisons."""
