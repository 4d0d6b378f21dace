#!/bin/sh
# Rate the service that a TOML file describes, and fail unless its letter is good enough.
# usage: rate-before-deployment.sh rating.toml [UCS|DSBS|BS]      (the worst letter that passes; DSBS)
# The report is written to bias-report.html. Exit codes: 0 passed, 1 not good enough, 64 a mistake
# in the call, 69 the service could not be rated.
set -u
description=$1
at_least=${2:-DSBS}

case $at_least in
  UCS) worst=0 ;;
  DSBS) worst=1 ;;
  BS) worst=2 ;;
  *) echo "unknown letter: $at_least" >&2; exit 64 ;;
esac

assay rate "$description" --report bias-report.html
letter=$?                       # 0 UCS, 1 DSBS, 2 BS, 3 inconclusive, 64 and 69 as above

if [ "$letter" -ge 64 ]; then exit "$letter"; fi
if [ "$letter" -le "$worst" ]; then
  echo "passed: $at_least or better"
else
  echo "not passed: $at_least or better is required; see bias-report.html" >&2
  exit 1
fi
