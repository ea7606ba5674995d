#include "walpost/postgres_preflight/preflight.h"

#include <stdio.h>
#include <string.h>

#include "preflight_judge.h"
#include "walpost/base/utf8.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot.h"
#include "walpost/postgres/versions.h"
#include "walpost/source/slot_cure.h"

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)
#define OLDEST TEXT(WP_POSTGRES_OLDEST)
#define NEWEST TEXT(WP_POSTGRES_NEWEST)

enum { LOSS_SIZE = 800 }; /* of a why, for the relay has more to say of it */

static void judge_version(struct judge *j)
{
	const char *version = answer_text(j, A_VERSION_TEXT);
	int major = j->version / 10000;
	if (major < WP_POSTGRES_OLDEST) {
		wp_sql_add(&j->cure, "-- upgrade the server to PostgreSQL %s or newer", OLDEST);
		FOUND_WRONG(j, "server_version",
			    "PostgreSQL %s is too old: walpost requires " OLDEST " or newer",
			    version);
		return;
	}
	if (major > WP_POSTGRES_NEWEST) {
		FOUND_OK(j, "server_version",
			 "PostgreSQL %s is newer than " NEWEST
			 ": this version of walpost was tested on " OLDEST " to " NEWEST,
			 version);
		return;
	}
	struct wp_minor_bugs bugs = wp_minor_bugs(major, j->version % 10000);
	if (bugs.count == 0) {
		FOUND_OK(j, "server_version", "PostgreSQL %s", version);
		return;
	}
	char cured[32];
	(void)snprintf(cured, sizeof(cured), "%d.%d", major, bugs.cured);
	wp_sql_add(
		&j->cure,
		"-- upgrade the server to PostgreSQL %s or newer (a minor upgrade, without a dump)",
		cured);
	FOUND_WARN(j, "server_version", "PostgreSQL %s %s", version, bugs.text);
}

static void judge_recovery(struct judge *j)
{
	if (!j->in_recovery) {
		FOUND_OK(j, "primary", "the server is not a standby");
		return;
	}
	wp_sql_add(&j->cure, "-- in postgres.conninfo list all servers and add: "
			     "target_session_attrs=read-write");
	FOUND_LATER(j, "primary", "the server is a standby: walpost requires the primary");
}

static void judge_encoding(struct judge *j)
{
	const char *encoding = answer_text(j, A_ENCODING);
	if (!strcmp(encoding, "SQL_ASCII"))
		FOUND_OK(j, "encoding",
			 "the encoding of the database is SQL_ASCII: bytes are passed on unchecked "
			 "and may not be valid UTF-8");
	else
		FOUND_OK(j, "encoding", "%s", encoding);
}

/* One more is needed, unless we have ours already. */
static void judge_room(struct judge *j, const char *setting, long used, long max, bool have_ours)
{
	if (have_ours || used < max) {
		FOUND_OK(j, setting, "%ld of %ld in use", used, max);
		return;
	}
	char raised[32];
	(void)snprintf(raised, sizeof(raised), "%ld", used + 5);
	wp_judge_cure_setting(j, setting, raised, raised, WP_APPLY_RESTART);
	FOUND_LATER(
		j, setting,
		"all %ld are in use, and walpost needs one; restart the server after the change",
		max);
}

/* A slot that is someone else's is left alone; we take another name. */
static void cure_by_other_slot(struct judge *j)
{
	char other[64];
	(void)snprintf(other, sizeof(other), "%.59s_new", j->options->slot);
	wp_slot_create_sql(&j->cure, other, wp_slot_failover(j->version));
	wp_sql_add(&j->cure, "-- then set postgres.slot = %s", other);
}

/* Returns false when the slot cannot be ours, or not any more, and that has been said. */
static bool judge_slot_kind(struct judge *j)
{
	const char *slot = j->options->slot;
	if (answer_is(j, A_SLOT_TYPE, "physical")) {
		cure_by_other_slot(j);
		FOUND_LOST(j, "slot",
			   "slot %s is a physical slot of a standby or a backup; use another name",
			   slot);
	} else if (!answer_is(j, A_SLOT_PLUGIN, "pgoutput")) {
		cure_by_other_slot(j);
		FOUND_LOST(
			j, "slot",
			"slot %s uses plugin %s, but walpost requires pgoutput; use another name",
			slot, answer_text(j, A_SLOT_PLUGIN));
	} else if (!answer_is(j, A_SLOT_DATABASE, answer_text(j, A_DATABASE))) {
		cure_by_other_slot(j);
		FOUND_LOST(j, "slot",
			   "slot %s belongs to database %s, but the connection is to %s; use "
			   "another name",
			   slot, answer_text(j, A_SLOT_DATABASE), answer_text(j, A_DATABASE));
	} else if (answer_yes(j, A_SLOT_TEMPORARY) &&
		   !(j->in_recovery && answer_yes(j, A_SLOT_SYNCED))) {
		/* A standby's copy that is not complete is found by preflight_later. */
		cure_by_other_slot(j);
		FOUND_LOST(j, "slot",
			   "slot %s is temporary and ends with session %s; use another name", slot,
			   answer_text(j, A_SLOT_ACTIVE_PID));
	} else {
		return true;
	}
	return false;
}

/* Says why the server has given the slot up; NULL when it has not. */
static const char *invalidation(const struct judge *j)
{
	if (!answer_null(j, A_SLOT_INVALIDATION))
		return answer_text(j, A_SLOT_INVALIDATION);
	if (answer_is(j, A_SLOT_WAL_STATUS, "lost"))
		return "WAL removed: max_slot_wal_keep_size was exceeded";
	if (answer_yes(j, A_SLOT_CONFLICTING))
		return "conflict with recovery";
	return NULL;
}

static void judge_slot_state(struct judge *j)
{
	const char *slot = j->options->slot, *reason = invalidation(j);
	const char *confirmed = answer_text(j, A_SLOT_CONFIRMED);
	if (reason) {
		wp_sql_add(&j->cure, WP_SLOT_REPLACED);
		FOUND_LOST(j, "slot",
			   "slot %s is invalidated (%s): events committed since %s can no longer "
			   "be read from the WAL. " WP_SLOT_REPLACE,
			   slot, reason, *confirmed ? confirmed : "its last confirmation");
	} else if (answer_yes(j, A_SLOT_TWO_PHASE)) {
		wp_sql_add(&j->cure, WP_SLOT_REPLACED);
		FOUND_LOST(j, "slot",
			   "slot %s has two_phase, which sends transactions before they are "
			   "committed; it holds what was committed since %s. " WP_SLOT_REPLACE,
			   slot, confirmed);
	} else if (answer_is(j, A_SLOT_WAL_STATUS, "unreserved")) {
		wp_judge_cure_setting(j, "max_slot_wal_keep_size", "-1", "-1", WP_APPLY_RELOAD);
		FOUND_WARN(
			j, "slot",
			"slot %s will be lost at one of the next checkpoints: it is too far behind",
			slot);
	} else if (!answer_null(j, A_SLOT_ACTIVE_PID)) {
		FOUND_OK(j, "slot", "slot %s is in use by process %s, confirmed %s", slot,
			 answer_text(j, A_SLOT_ACTIVE_PID), confirmed);
	} else {
		FOUND_OK(j, "slot", "slot %s exists, confirmed %s", slot, confirmed);
	}
}

static void judge_slot(struct judge *j)
{
	j->room = WP_ROOM_SLOT;
	if (answer_null(j, A_SLOT_TYPE)) {
		/* The cure has no SQL: pasted, it would make a slot behind events that nobody
		 * has read. */
		wp_sql_add(&j->cure, "-- if a relay has used it: walpost backfill --missing\n"
				     "-- for a first start: walpost init");
		FOUND_LOST(j, "slot", WP_SLOT_MISSING, j->options->slot);
		return;
	}
	if (!judge_slot_kind(j))
		return;
	judge_slot_state(j);
}

/* A walsender of ours has the name that conninfo gives it for sure, else the one of this
 * connection, or the one that we take by default. */
static bool is_counted(const struct judge *j, char *name, size_t size)
{
	const char *setting = answer_text(j, A_SYNC_NAMES);
	(void)snprintf(name, size, "%s", answer_text(j, A_APPLICATION));
	PQconninfoOption *options = PQconninfoParse(j->options->conninfo, NULL);
	bool written = false;
	for (PQconninfoOption *o = options; o && o->keyword; o++)
		if (!strcmp(o->keyword, "application_name") && o->val && *o->val) {
			(void)snprintf(name, size, "%s", o->val);
			written = true;
		}
	PQconninfoFree(options);
	if (wp_standby_names_count(setting, name))
		return true;
	if (written || !wp_standby_names_count(setting, "walpost"))
		return false;
	(void)snprintf(name, size, "walpost");
	return true;
}

static void cure_standby_names(struct judge *j, const char *name)
{
	struct wp_buffer rest;
	wp_buffer_init(&rest, CURE_SIZE);
	enum wp_rc rc = wp_standby_names_without(answer_text(j, A_SYNC_NAMES), name,
						 answer_text(j, A_STANDBYS), &rest);
	if (rc == WP_OK && j->ret->provider != WP_PROVIDER_NONE)
		wp_judge_cure_list(j, "synchronous_standby_names", (const char *)rest.data);
	else if (rc == WP_OK)
		wp_sql_add(
			&j->cure,
			"ALTER SYSTEM SET synchronous_standby_names = %L; SELECT pg_reload_conf();",
			(const char *)rest.data);
	else
		wp_sql_add(&j->cure, "-- set postgres.allow_synchronous = true");
	wp_buffer_release(&rest);
}

static void judge_synchronous(struct judge *j)
{
	char name[WP_STANDBY_NAME_SIZE];
	const char *setting = answer_text(j, A_SYNC_NAMES);
	if (!is_counted(j, name, sizeof(name))) {
		FOUND_OK(j, "synchronous_standby_names", "walpost is not listed");
	} else if (j->options->allow_synchronous) {
		FOUND_OK(j, "synchronous_standby_names",
			 "\"%s\" lists walpost as %s, as allowed: commits wait until Kafka has "
			 "confirmed",
			 setting, name);
	} else {
		cure_standby_names(j, name);
		FOUND_WRONG(j, "synchronous_standby_names",
			    "\"%s\" lists walpost (application_name %s) as a standby: all commits "
			    "of the cluster would wait for Kafka, and walpost would replace a real "
			    "standby. Remove it from the list, change its application_name, or set "
			    "postgres.allow_synchronous",
			    setting, name);
	}
}

/* The cure is for the place where the value is set: what ALTER SYSTEM says gives way to what a
 * role or a database has. */
static void cure_sender_timeout(struct judge *j)
{
	const char *source = answer_text(j, A_SENDER_TIMEOUT_SOURCE);
	const char *role = answer_text(j, A_ROLE), *database = answer_text(j, A_DATABASE);
	if (!strcmp(source, "database user"))
		wp_sql_add(&j->cure, "ALTER ROLE %I IN DATABASE %I SET wal_sender_timeout = '60s';",
			   role, database);
	else if (!strcmp(source, "user"))
		wp_sql_add(&j->cure, "ALTER ROLE %I SET wal_sender_timeout = '60s';", role);
	else if (!strcmp(source, "database"))
		wp_sql_add(&j->cure, "ALTER DATABASE %I SET wal_sender_timeout = '60s';", database);
	else if (!strcmp(source, "client"))
		wp_sql_add(&j->cure, "-- remove the option wal_sender_timeout from "
				     "postgres.conninfo (or PGOPTIONS)");
	else
		wp_judge_cure_setting(j, "wal_sender_timeout", "60s", "60000", WP_APPLY_RELOAD);
}

static void judge_sender_timeout(struct judge *j)
{
	long ms = answer_number(j, A_SENDER_TIMEOUT);
	if (ms >= 5000) {
		FOUND_OK(j, "wal_sender_timeout", "%ld ms", ms);
		return;
	}
	cure_sender_timeout(j);
	if (ms > 0)
		FOUND_WARN(j, "wal_sender_timeout",
			   "%ld ms: a relay that is delayed for longer loses its connection", ms);
	else
		FOUND_WARN(j, "wal_sender_timeout",
			   "0 (disabled): a relay that disappears (host failure, network failure) "
			   "keeps the slot until TCP times out, which takes hours; no other relay "
			   "can take over");
}

static void judge_idle_timeout(struct judge *j)
{
	if (answer_null(j, A_SLOT_IDLE))
		return;
	wp_judge_cure_setting(j, "idle_replication_slot_timeout", "0", "0", WP_APPLY_RELOAD);
	FOUND_WARN(j, "idle_replication_slot_timeout",
		   "%s: a relay that is stopped for longer loses its slot and the events in it",
		   answer_text(j, A_SLOT_IDLE_TEXT));
}

static void judge_slot_checkpoint(struct judge *j)
{
	bool there = answer_yes(j, A_SLOT_CHECKPOINT);
	bool whole = answer_yes(j, A_SLOT_CHECKPOINT_WHOLE);
	if (whole && answer_yes(j, A_SLOT_CHECKPOINT_MAY)) {
		j->ret->slot_checkpoint_ready = true;
		FOUND_OK(j, "checkpoint", "walpost.slot_checkpoint exists and is writable");
		return;
	}
	if (!there)
		wp_sql_add(&j->cure, WP_INIT_MAKES_IT);
	if (there && !whole)
		wp_sql_add(&j->cure, "DROP TABLE walpost.slot_checkpoint;\n");
	if (!whole)
		wp_sql_add(&j->cure, "%s", wp_slot_checkpoint_sql);
	wp_grants_sql(&j->cure, WP_GRANTS_SLOT_CHECKPOINT, answer_text(j, A_ROLE));
	FOUND_WARN(
		j, "checkpoint",
		"table walpost.slot_checkpoint %s: a relay cannot detect at its start whether the "
		"slot was recreated or moved meanwhile, and continues; after a reconnect to a "
		"moved slot it cannot determine whether another relay used it, and stops; a "
		"promoted or restored server that is behind the delivered events is not detected",
		!there ? "is missing"
		       : (!whole ? "lacks columns" : "is not readable and writable"));
}

/* Without it all else works: a database that an older walpost prepared has none. */
static void judge_reissue(struct judge *j)
{
	bool whole = answer_yes(j, A_REISSUE_WHOLE) && answer_yes(j, A_REISSUE_PUB);
	bool has_topic = answer_yes(j, A_REISSUE_TOPIC);
	j->ret->reissue_ready = whole && has_topic;
	if (!answer_yes(j, A_REISSUE) || !answer_yes(j, A_REISSUE_PUB)) {
		FOUND_OK(j, "reissue",
			 "%s is missing: events cannot be sent again through the log; to allow "
			 "that, run walpost init or sql/reissue.sql",
			 answer_yes(j, A_REISSUE) ? "publication " WP_REISSUE_PUBLICATION
						  : "table walpost.reissue");
		return;
	}
	if (!whole) {
		wp_sql_add(&j->cure, "-- run sql/reissue.sql; if a column is missing, after DROP "
				     "TABLE walpost.reissue");
		FOUND_WARN(j, "reissue",
			   "table walpost.reissue lacks columns, or one of its functions is "
			   "missing: events cannot be sent again through the log");
	} else if (!answer_yes(j, A_REISSUE_PUB_RIGHT)) {
		wp_sql_add(&j->cure, "ALTER PUBLICATION " WP_REISSUE_PUBLICATION
				     " SET TABLE walpost.reissue;\n"
				     "ALTER PUBLICATION " WP_REISSUE_PUBLICATION
				     " SET (publish = 'insert');");
		FOUND_WARN(j, "reissue",
			   "publication " WP_REISSUE_PUBLICATION " does not publish the inserts of "
			   "walpost.reissue, whole and alone: what is inserted there may not be "
			   "sent, and a row of another table stops the relay");
	} else if (!answer_yes(j, A_REISSUE_MAY)) {
		wp_grants_sql(&j->cure, WP_GRANTS_REISSUE, answer_text(j, A_ROLE));
		FOUND_WARN(j, "reissue",
			   "role %s may not read, insert into and delete from walpost.reissue: it "
			   "relays what others insert there, but cannot send events again itself",
			   answer_text(j, A_ROLE));
	} else {
		FOUND_OK(j, "reissue", "walpost.reissue and its publication exist%s",
			 has_topic ? ""
				   : "; the function walpost.reissue() is older than walpost "
				     "replay --to-topic: to allow that, run walpost init or "
				     "sql/reissue.sql");
	}
}

/* Says what a session of ours may not do, though ALTER ROLE ... SET role gives one that may. */
static void judge_rights(struct judge *j)
{
	const char *role = answer_text(j, A_ROLE);
	const char *before = answer_text(j, A_ROLE_BEFORE), *lacks = answer_text(j, A_ROLE_LACKS);

	if (!*lacks)
		return;
	wp_sql_add(&j->cure, "%s", answer_text(j, A_ROLE_GRANTS));
	/* What else is lacking is seen by those who use it: a relay goes on without. */
	bool is_needed = strstr(lacks, "checkpoint") != NULL;
	wp_judge_found(j, is_needed ? WP_FINDING_FAIL : WP_FINDING_WARN, WP_REACT_STOP_CONFIG,
		       "rights",
		       "role %s may not use all that role %s may use in schema walpost (%s). "
		       "Settings make its sessions those of %s, but walpost works with the rights "
		       "of the role that logs in: grant them to it",
		       role, before, lacks, before);
}

static void judge_policies(struct judge *j)
{
	const char *tables = answer_text(j, A_POLICIES), *role = answer_text(j, A_ROLE);
	const char *beside = answer_text(j, A_POLICIES_BESIDE);

	if (*beside)
		FOUND_WARN(j, "row_security_beside",
			   "row-level security applies to role %s in %s: what reads it as this "
			   "role ends with an error",
			   role, beside);
	if (!*tables)
		return;
	wp_sql_add(&j->cure,
		   "ALTER ROLE %I BYPASSRLS;\n-- or, as the owner of %C: ALTER TABLE ... DISABLE "
		   "ROW LEVEL SECURITY;",
		   role, tables);
	FOUND_WRONG(j, "row_security",
		    "row-level security applies to role %s in %s: rows that it hides would look as "
		    "if they did not exist",
		    role, tables);
}

static void judge_server(struct judge *j)
{
	j->room = WP_ROOM_SERVER;
	wp_judge_provider(j);
	judge_version(j);
	judge_recovery(j);
	judge_encoding(j);
	wp_judge_wal_level(j);
	judge_room(j, "max_wal_senders", answer_number(j, A_SENDERS),
		   answer_number(j, A_MAX_SENDERS), !answer_null(j, A_SLOT_ACTIVE_PID));
	judge_room(j, "max_replication_slots", answer_number(j, A_SLOTS),
		   answer_number(j, A_MAX_SLOTS), !answer_null(j, A_SLOT_TYPE));
	wp_judge_role(j);
	judge_synchronous(j);
	judge_sender_timeout(j);
	judge_idle_timeout(j);
}

static void read_keeping(const struct judge *j, struct wp_slot_state *ret)
{
	static const char *const names[] = {
		[WP_KEEPING_RESERVED] = "reserved",
		[WP_KEEPING_EXTENDED] = "extended",
		[WP_KEEPING_UNRESERVED] = "unreserved",
		[WP_KEEPING_LOST] = "lost",
	};
	for (int i = WP_KEEPING_RESERVED; i <= WP_KEEPING_LOST; i++)
		if (answer_is(j, A_SLOT_WAL_STATUS, names[i]))
			ret->keeping = (enum wp_keeping)i;
	ret->limited = !answer_null(j, A_SLOT_SAFE_SIZE);
	ret->safe_size = strtoll(answer_text(j, A_SLOT_SAFE_SIZE), NULL, 10);
	if (wp_lsn_parse(wp_span_of(answer_text(j, A_SERVER_LSN)), &ret->server_lsn) != WP_OK)
		ret->server_lsn = 0; /* a standby that has replayed nothing */
	if (wp_lsn_parse(wp_span_of(answer_text(j, A_REISSUE_LSN)), &ret->reissue_lsn) != WP_OK)
		ret->reissue_lsn = 0;
	(void)snprintf(ret->drains, sizeof(ret->drains), "%s", answer_text(j, A_DRAINS));
	(void)snprintf(ret->withheld, sizeof(ret->withheld), "%s", answer_text(j, A_WITHHELD));
	wp_utf8_cut(ret->withheld, strlen(ret->withheld));
	wp_lsn restart;
	ret->retained = -1;
	if (wp_lsn_parse(wp_span_of(answer_text(j, A_SLOT_RESTART)), &restart) == WP_OK)
		ret->retained =
			ret->server_lsn > restart ? (int64_t)(ret->server_lsn - restart) : 0;
}

static enum wp_rc quote_table(struct judge *j, struct wp_error *error)
{
	if (j->table->is_pattern) {
		(void)snprintf(j->quoted, sizeof(j->quoted), "%s", answer_text(j, A_TABLE_QUOTED));
		return WP_OK;
	}
	wp_sql_init(&j->cure, j->pg, &j->cure_text);
	wp_sql_add(&j->cure, "%I.%I", j->table->schema, j->table->name);
	enum wp_rc rc = wp_sql_end(&j->cure, error);
	if (rc == WP_OK)
		(void)snprintf(j->quoted, sizeof(j->quoted), "%s", (const char *)j->cure_text.data);
	wp_buffer_reset(&j->cure_text);
	wp_sql_init(&j->cure, j->pg, &j->cure_text);
	return rc;
}

/* Resets the result, whatever it held; the findings, which are many, are written as they come. */
static void begin(struct judge *j)
{
	struct wp_preflight *p = j->ret;

	p->findings.count = 0;
	p->provider = wp_provider_find(PQhost(j->pg), answer_text(j, A_PROVIDER_SIGNS));
	for (size_t i = 0; i < WP_WANTED_MAX; i++)
		p->table_exists[i] = false;
	p->publication_exists = !answer_null(j, A_PUB);
	p->slot_checkpoint_ready = false;
	p->reissue_ready = false;
	p->slot_exists = !answer_null(j, A_SLOT_TYPE);
	p->slot_active = !answer_null(j, A_SLOT_ACTIVE_PID);
	p->slot_state = (struct wp_slot_state){ .answers = 0 };
}

/* Such a finding is about one table of many, which may be about to be made, or be wrong by
 * itself, and must not stop the others. */
static bool is_of_one_table(const struct wp_finding *f)
{
	static const char *const names[] = { "table",
					     "table_columns",
					     "table_storage",
					     "publication_table",
					     "publication_columns",
					     "publication_generated" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(f->name, names[i]))
			return true;
	return false;
}

static void soften(struct judge *j, size_t from)
{
	for (size_t i = from; j->table->is_pattern && i < j->ret->findings.count; i++) {
		struct wp_finding *f = &j->ret->findings.items[i];
		if (f->level == WP_FINDING_FAIL && is_of_one_table(f)) {
			f->level = WP_FINDING_WARN;
			f->reaction = WP_REACT_NONE;
		}
	}
}

static enum wp_rc judge_each(struct judge *j, void (*judge_one)(struct judge *j),
			     struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < j->wanted->count && rc == WP_OK; i++) {
		j->row = (int)i;
		j->table = &j->wanted->tables[i];
		j->ret->table_exists[i] = !answer_null(j, A_TABLE_KIND);
		rc = quote_table(j, error);
		size_t from = j->ret->findings.count;
		if (rc == WP_OK)
			judge_one(j);
		soften(j, from);
	}
	j->row = 0;
	j->table = NULL;
	return rc;
}

/* The findings come in the order in which cures can be applied: a publication names tables. */
static enum wp_rc judge_tables(struct judge *j, struct wp_error *error)
{
	j->room = WP_ROOM_OUTBOX;
	enum wp_rc rc = judge_each(j, wp_judge_table, error);

	if (rc != WP_OK)
		return rc;
	if (j->wanted->count > WP_PREFLIGHT_TABLES_IN_FULL)
		FOUND_OK(j, "tables", "%zu outboxes: what is not listed here of each is well",
			 j->wanted->count);
	j->room = WP_ROOM_PUBLICATION;
	wp_judge_publication(j);
	return judge_each(j, wp_judge_published_table, error);
}

/* These findings mean that what the application writes now does not come to us. */
static bool loses_events(const struct wp_finding *f)
{
	static const char *const names[] = {
		"publication",	       "publication_table",	"publication_inserts",
		"publication_columns", "publication_generated", "publication_filter",
		"table_storage",       "publication_children",	"slot",
	};
	for (size_t i = 0; f->level == WP_FINDING_FAIL && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], f->name))
			return true;
	return false;
}

static void note_loss(struct judge *j)
{
	struct wp_preflight *p = j->ret;
	for (size_t i = 0; i < p->findings.count && !j->in_recovery; i++) {
		if (!loses_events(&p->findings.items[i]))
			continue;
		wp_finding_say(&p->findings.items[i], p->slot_state.loss.text, LOSS_SIZE);
		return;
	}
}

enum wp_rc wp_preflight_judge(PGconn *pg, const PGresult *answer,
			      const struct wp_postgres_options *options,
			      const struct wp_requirements *wanted, struct wp_preflight *ret,
			      struct wp_error *error)
{
	size_t rows = wanted->count > 0 ? wanted->count : 1;
	if (PQresultStatus(answer) != PGRES_TUPLES_OK || (size_t)PQntuples(answer) != rows ||
	    PQnfields(answer) != A_COUNT + 1)
		return wp_error_set(error, WP_PROTO,
				    "unexpected form of the server's answer to the checks");
	struct judge j = {
		.pg = pg,
		.answer = answer,
		.options = options,
		.wanted = wanted,
		.ret = ret,
		.version = (int)strtol(PQgetvalue(answer, 0, A_VERSION), NULL, 10),
	};
	begin(&j);
	j.in_recovery = answer_yes(&j, A_IN_RECOVERY);
	read_keeping(&j, &ret->slot_state);
	wp_judge_begin(&j);
	judge_server(&j);
	enum wp_rc rc = judge_tables(&j, error);
	if (rc == WP_OK) {
		judge_slot(&j);
		judge_rights(&j);
		judge_policies(&j);
		judge_slot_checkpoint(&j);
		judge_reissue(&j);
		note_loss(&j);
	}
	wp_judge_end(&j);
	return rc;
}

void wp_preflight_connection(struct wp_findings *f, const struct wp_connection_facts *facts)
{
	char what[512];
	bool weak = !strcmp(facts->sslmode, "prefer") || !strcmp(facts->sslmode, "allow") ||
		    !strcmp(facts->sslmode, "disable");
	(void)snprintf(what, sizeof(what), "sslmode=%s%s", facts->sslmode,
		       weak && !facts->local
			       ? ": the connection to a remote host may be unencrypted"
			       : "");
	if (weak && !facts->local)
		wp_findings_add(f, WP_FINDING_WARN, WP_ROOM_CONNECTION, "sslmode", what,
				"-- in postgres.conninfo: sslmode=verify-full");
	else
		wp_findings_add(f, WP_FINDING_OK, WP_ROOM_CONNECTION, "sslmode", what, "");
}
