#!/bin/sh
# mlflow server, with the database's password from a file: libpq takes it from PGPASSWORD, so it stands neither in the
# store's address, nor in an argument, nor in what `docker inspect` shows.
set -eu
if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$PGPASSWORD_FILE")
    export PGPASSWORD
fi
exec mlflow server "$@"
