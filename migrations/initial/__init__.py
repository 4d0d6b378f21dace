"""Tables of the initial schema, written out: they never change, whatever becomes of the tables of `store`."""
