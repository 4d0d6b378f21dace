"""One module for each migration; Alembic loads them."""
