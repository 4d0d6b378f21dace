"""Tables and figures of the five papers, computed and compared with the printed ones (`make papers`).

`printed` holds every published figure with its source, and no other module repeats one; `p1` to `p5` compute,
`page` writes the page. The tests in `tests/papers` import both.
"""
