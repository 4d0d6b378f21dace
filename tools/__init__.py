"""Programs that developers run from the project's folder; they are not installed.

=========================  =====================================================================
`tools.calibrate`          rates simulated services of known bias; writes docs/calibration.md
`tools.compositions`       predicts letters of random pairs of services, for the same page
`tools.mutate`             mutation testing: changes the science, and looks for a failing test
`tools.openapi_document`   writes the OpenAPI document for its linters
`tools.scaled_demo`        runs Postgres, Redis, two APIs and two workers, and kills one of each
=========================  =====================================================================
"""
