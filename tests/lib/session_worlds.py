"""Settings as someone else may have made them for the relay's sessions: drawn by chance, put where they may be."""

import contextlib
import random

import psycopg
from psycopg import sql

_ON_OFF = ("on", "off")

# What a session may be given, with values that are not the ones a server comes with. What a server does not know, or
# does not take, is not drawn.
VALUES = {
    "datestyle": ("German, DMY", "SQL, DMY", "SQL, MDY", "Postgres, DMY", "ISO, YMD"),
    "timezone": ("Asia/Tokyo", "America/St_Johns", "-12:34", "+05:45", "<odd>-3:30", "Europe/London", "right/UTC"),
    "timezone_abbreviations": ("Australia", "India"),
    "intervalstyle": ("iso_8601", "sql_standard", "postgres_verbose"),
    "extra_float_digits": ("-15", "-10", "0", "1"),
    "bytea_output": ("escape",),
    "lc_monetary": ("C.UTF-8", "POSIX"), "lc_numeric": ("C.UTF-8",), "lc_time": ("C.UTF-8",), "lc_messages": ("POSIX",),
    "client_encoding": ("LATIN1", "SQL_ASCII", "EUC_JP", "WIN1252"),
    "search_path": ("", "pg_temp", "nowhere, public"),
    "standard_conforming_strings": ("off",), "escape_string_warning": _ON_OFF,
    "backslash_quote": _ON_OFF, "quote_all_identifiers": ("on",),
    "array_nulls": ("off",), "transform_null_equals": ("on",), "xmlbinary": ("hex",), "xmloption": ("document",),
    "row_security": ("off",), "check_function_bodies": ("off",),
    "client_min_messages": ("error", "debug5", "log"),
    "default_transaction_isolation": ("serializable", "repeatable read"),
    "default_transaction_deferrable": ("on",), "default_transaction_read_only": ("on",),
    "synchronous_commit": ("off", "local"), "exit_on_error": ("on",), "session_replication_role": ("replica", "local"),
    "statement_timeout": ("20", "1"), "lock_timeout": ("1",), "transaction_timeout": ("20",),
    "idle_in_transaction_session_timeout": ("20",), "idle_session_timeout": ("50",),
    "gin_fuzzy_search_limit": ("1",), "gin_pending_list_limit": ("64",), "plan_cache_mode": ("force_generic_plan",),
    "jit": _ON_OFF, "jit_above_cost": ("0",), "geqo": ("off",), "geqo_threshold": ("2",),
    "enable_seqscan": ("off",), "enable_indexscan": ("off",), "enable_hashjoin": ("off",), "enable_nestloop": ("off",),
    "enable_sort": ("off",), "enable_material": ("off",), "from_collapse_limit": ("1",), "join_collapse_limit": ("1",),
    "work_mem": ("64",), "temp_buffers": ("100",), "logical_decoding_work_mem": ("64",), "hash_mem_multiplier": ("1",),
    "force_parallel_mode": ("on",), "debug_parallel_query": ("on",), "min_parallel_table_scan_size": ("0",),
    "logical_decoding_mode": ("immediate",), "debug_logical_replication_streaming": ("immediate",),
    "default_toast_compression": ("pglz",), "restrict_nonsystem_relation_kind": ("view, foreign-table",),
    "constraint_exclusion": _ON_OFF, "cursor_tuple_fraction": ("0.0",), "lo_compat_privileges": ("on",),
    "track_activities": ("off",), "log_statement": ("all",), "application_name": ("caf\u00e9 'app'", ""),
    "wal_sender_timeout": ("5s", "0"), "tcp_user_timeout": ("9s",), "client_connection_check_interval": ("1s",),
}
# Of libpq and of the C library, in the environment.
VARIABLES = {
    "PGTZ": ("Asia/Tokyo", "-12:34"), "PGDATESTYLE": ("German", "SQL, DMY"), "PGGEQO": ("off",),
    "PGCLIENTENCODING": ("LATIN1", "SQL_ASCII", "EUC_JP"), "PGAPPNAME": ("other",),
    "TZ": ("Asia/Tokyo", "America/St_Johns"), "LC_ALL": ("C", "POSIX", "de_DE.UTF-8"), "LANG": ("C", "tr_TR.UTF-8"),
}
PLACES = ("environment", "conninfo", "role", "role in database", "database", "trigger")
MANY = 12  # settings of one world at most


def options_of(settings):
    """As in PGOPTIONS and in the parameter options of a connection string."""
    escaped = ((name, value.replace("\\", "\\\\").replace(" ", "\\ ")) for name, value in settings.items())
    return " ".join(f"-c {name}={value}" for name, value in escaped)


def login_trigger(connection, role, body):
    """For the sessions of this role only, so that a test's own are left alone; PostgreSQL 17 or newer."""
    connection.execute(sql.SQL("""
        CREATE OR REPLACE FUNCTION public.at_login() RETURNS event_trigger LANGUAGE plpgsql AS {}
        """).format(sql.Literal(f"BEGIN IF session_user = '{role}' THEN {body} END IF; END")))
    connection.execute("DROP EVENT TRIGGER IF EXISTS at_login; "
                       "CREATE EVENT TRIGGER at_login ON login EXECUTE FUNCTION public.at_login()")


class World:
    """What one seed gives: {place: {setting: value}}, and variables."""

    def __init__(self, seed, choices, places):
        chance = random.Random(seed)
        self.seed = seed
        self.variables = {name: chance.choice(values) for name, values in VARIABLES.items() if chance.random() < 0.3}
        self.settings = {}
        for name in chance.sample(sorted(choices), min(len(choices), chance.randint(1, MANY))):
            for place in chance.sample(places, chance.choice((1, 1, 2))):
                self.settings.setdefault(place, {})[name] = chance.choice(choices[name])

    def __str__(self):
        return f"seed {self.seed}: environment {self.variables}, settings {self.settings}"

    def names(self):
        """Those that a refusal may name."""
        given = {name for settings in self.settings.values() for name in settings} | set(self.variables)
        return given | {name.removeprefix("PG").lower() for name in self.variables}


class Worlds:
    """Gives one role of a stage's database one world after the other; its own session knows nothing of them."""

    def __init__(self, stage, role, other_role):
        self._stage, self._role = stage, role
        self._places = [place for place in PLACES if place != "trigger" or int(stage.postgres.version) >= 17]
        self.session = stage.connect()
        self._choices = {"role": (other_role,), **self._taken()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._alter(sql.SQL("DATABASE {}").format(sql.Identifier(self._stage.database)), sql.SQL("RESET ALL"))
        if "trigger" in self._places:
            self.session.execute("DROP EVENT TRIGGER IF EXISTS at_login")
        self.session.close()

    def _taken(self):
        """What this server knows and takes, and a session may change."""
        taken = {}
        for name, values in VALUES.items():
            for value in values:
                with contextlib.suppress(psycopg.Error), self.session.transaction(force_rollback=True):
                    self.session.execute("SET LOCAL client_min_messages = error")
                    self.session.execute("SELECT set_config(%s, %s, true)", (name, value))
                    taken.setdefault(name, []).append(value)
        return taken

    def draw(self, seed):
        return World(f"{self._stage.postgres.version}-{seed}", self._choices, self._places)

    def make(self, world):
        """Instead of the one before. Returns the environment and the connection string for a relay in it."""
        role, database = sql.Identifier(self._role), sql.Identifier(self._stage.database)
        targets = {
            "role": sql.SQL("ROLE {}").format(role), "database": sql.SQL("DATABASE {}").format(database),
            "role in database": sql.SQL("ROLE {} IN DATABASE {}").format(role, database),
        }
        for place, target in targets.items():
            self._alter(target, sql.SQL("RESET ALL"))
            for name, value in world.settings.get(place, {}).items():
                self._alter(target, sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
        if "trigger" in self._places:
            # What a role does not have the right to set is left as it is.
            login_trigger(self.session, self._role, " ".join(
                sql.SQL("BEGIN PERFORM set_config({}, {}, false); EXCEPTION WHEN OTHERS THEN NULL; END;").format(
                    sql.Literal(name), sql.Literal(value)).as_string(None)
                for name, value in world.settings.get("trigger", {}).items()))
        environment = dict(world.variables)
        if "environment" in world.settings:
            environment["PGOPTIONS"] = options_of(world.settings["environment"])
        more = {"user": self._role}
        if "conninfo" in world.settings:
            more["options"] = options_of(world.settings["conninfo"])
        return environment, self._stage.postgres.conninfo(self._stage.database, **more)

    def _alter(self, target, change):
        self.session.execute(sql.SQL("ALTER {} {}").format(target, change))
