#!/bin/sh
# Makes the relay's role when the database is made; `walpost init` gives it what it needs.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/walpost_password)" \
	--username postgres --dbname "$POSTGRES_DB" <<'END'
CREATE ROLE walpost LOGIN PASSWORD :'password';
END
