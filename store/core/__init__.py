"""The database itself: schema, connections, settings, migration, identifiers, time and errors."""
