"""A proving ground: the whole agency as processes on this machine, the things that can happen to it, and a judge.

============================  ==========================================================
`proving.postgres`, `redis`   real servers, from wheels
`proving.supervised`          a process that is started again when it ends, as an orchestrator does
`proving.town`                Postgres, Redis, API processes and workers together
`proving.target`              a service to be rated that counts what it is asked
`proving.history`             reads the database afterwards and finds every broken promise
`proving.undisturbed`         the ratings that nothing could disturb
============================  ==========================================================

The chaos tests, the benchmarks and `make scaled-demo` use it; it is not part of what is installed.
"""
