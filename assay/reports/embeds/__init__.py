"""Ratings in the formats of catalogs and pages: badges, metadata, links."""
