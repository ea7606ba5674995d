#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"
#include "walpost/cli/findings.h"
#include "walpost/cli/outbox.h"
#include "walpost/kafka/preflight.h"
#include "walpost/postgres/slot.h"
#include "walpost/postgres/sql.h"
#include "walpost/postgres/witness.h"
#include "walpost/run/wanted.h"

#define KAFKA_TIMEOUT_MS 10000

struct check {
	struct wp_config config;
	struct wp_wanted_outboxes wanted;
	struct wp_console console;
	struct wp_preflight found;
};

static void add(struct check *c, enum wp_rc rc, enum wp_finding_room room, const char *name,
		const char *fine, const struct wp_why *why, const char *cure)
{
	if (rc == WP_OK)
		wp_findings_add(&c->found.findings, WP_FINDING_OK, room, name, fine, "");
	else
		wp_findings_add(&c->found.findings, WP_FINDING_FAIL, room, name, why->text, cure);
}

static void check_sslmode(struct check *c)
{
	struct wp_connection_facts facts;
	if (wp_connection_facts(&c->config.postgres, &facts, NULL) == WP_OK)
		wp_preflight_connection(&c->found.findings, &facts); /* else connecting says why */
}

/* What the question below answers, in this order. */
enum { BEYOND, DECODED_LESS, SLOT_AT, CONFIRMED, CONFIRMED_AT, EPOCH };

static bool is_true(const PGresult *row, int column)
{
	return *PQgetvalue(row, 0, column) == 't'; /* NULL is "" */
}

static void judge_moved(struct check *c, const PGresult *row)
{
	struct wp_why why;
	long epoch = strtol(PQgetvalue(row, 0, EPOCH), NULL, 10);
	/* A new epoch begins anew. */
	if ((!is_true(row, BEYOND) && !is_true(row, DECODED_LESS)) ||
	    (long)c->config.relay.epoch > epoch)
		return;
	(void)wp_why_set(&why, WP_CONFIG,
			 "slot %s stands at %s, but the relay that had it last had confirmed "
			 "only %s at %s%s: it was moved or made anew meanwhile, and walpost run "
			 "will refuse it",
			 c->config.postgres.slot, PQgetvalue(row, 0, SLOT_AT),
			 PQgetvalue(row, 0, CONFIRMED), PQgetvalue(row, 0, CONFIRMED_AT),
			 is_true(row, BEYOND) ? ""
					      : ", and it has decoded fewer transactions "
						"now than then");
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "slot_moved", why.text,
			"-- walpost slot accept; then start it, and when it has caught up insert "
			"again what is missing in Kafka");
}

static void judge_epoch(struct check *c, const PGresult *row)
{
	struct wp_why why;
	char cure[64];
	long epoch = strtol(PQgetvalue(row, 0, EPOCH), NULL, 10);
	if ((long)c->config.relay.epoch >= epoch)
		return;
	(void)wp_why_set(&why, WP_CONFIG,
			 "relay.epoch is %u, but events of slot %s were sent with epoch %ld: new "
			 "ones would sort below them, and walpost run will refuse it",
			 (unsigned)c->config.relay.epoch, c->config.postgres.slot, epoch);
	(void)snprintf(cure, sizeof(cure), "-- set relay.epoch = %ld", epoch);
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "epoch", why.text, cure);
}

/*
 * What a start would refuse (relay/relay_gap): a slot beyond where a relay that stopped in
 * good order left it, or that has decoded less than when one was killed, and an epoch below
 * that of events that were sent. Without the table, or the right to it, there is nothing to
 * compare.
 */
static void check_witness(struct check *c, struct wp_session *session)
{
	static const char sql[] =
		"SELECT w.stopped AND NOT s.active AND s.confirmed_flush_lsn > w.confirmed_lsn,\n"
		"  NOT s.active AND " WP_WITNESS_IS_COMPARABLE
		" AND t.total_txns < w.slot_transactions,\n"
		"  s.confirmed_flush_lsn, w.confirmed_lsn, w.confirmed_at, w.epoch\n"
		"FROM pg_catalog.pg_replication_slots s JOIN walpost.witness w ON w.slot = "
		"s.slot_name\n"
		"LEFT JOIN pg_catalog.pg_stat_replication_slots t ON t.slot_name = w.slot\n"
		"CROSS JOIN pg_catalog.pg_stat_bgwriter b\n"
		"WHERE s.slot_name = %L";
	struct wp_buffer text;
	struct wp_sql writer;
	struct wp_why why;
	PGresult *row;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&writer, wp_session_pg(session), &text);
	wp_sql_add(&writer, sql, c->config.postgres.slot);
	enum wp_rc rc = wp_sql_end(&writer, &why);
	if (rc == WP_OK)
		rc = wp_session_query(session, (const char *)text.data, &row, &why);
	wp_buffer_release(&text);
	if (rc != WP_OK)
		return; /* what is wrong with the table is a finding of its own */
	if (PQntuples(row) == 1) {
		judge_moved(c, row);
		judge_epoch(c, row);
	}
	PQclear(row);
}

/* The preflight begins the list of findings anew: it comes first. */
static void check_server(struct check *c)
{
	struct wp_session session;
	struct wp_why why;
	const struct wp_postgres_options *postgres = &c->config.postgres;
	enum wp_rc rc = wp_session_open(&session, &c->console, postgres, WP_CONNECTION_SQL, &why);
	if (rc == WP_OK)
		rc = wp_cli_preflight(&session, postgres, &c->wanted.wanted, &c->found, &why);
	if (rc == WP_OK && c->found.witness_ready)
		check_witness(c, &session);
	add(c, rc, WP_ROOM_CONNECTION, "connection", "the server answers", &why,
	    "-- see postgres.conninfo");
	wp_session_release(&session);
}

/* A pooler, or a limit of the role, may stand between us and a walsender. */
static void check_replication(struct check *c)
{
	struct wp_session session;
	struct wp_why why;
	enum wp_rc rc = wp_session_open(&session, &c->console, &c->config.postgres,
					WP_CONNECTION_REPLICATION, &why);
	add(c, rc, WP_ROOM_CONNECTION, "replication_connection", "the server lets us replicate",
	    &why,
	    "-- in postgres.conninfo name the server itself: a connection pooler cannot replicate"
	    "(replication=database)");
	wp_session_release(&session);
}

static void check_kafka(struct check *c)
{
	struct wp_why why, sentence;
	if (c->config.relay.sink != WP_SINK_KIND_KAFKA)
		return;
	enum wp_rc rc = wp_kafka_check(&c->config.kafka, KAFKA_TIMEOUT_MS, &sentence, &why);
	add(c, rc, WP_ROOM_KAFKA, "kafka", sentence.text, &why,
	    "-- see [kafka], above all bootstrap.servers");
	if (rc != WP_OK || c->config.relay.poison != WP_POISON_DEAD_LETTER)
		return;
	rc = wp_kafka_check_topic(&c->config.kafka, c->config.relay.dead_letter_topic,
				  KAFKA_TIMEOUT_MS, &sentence, &why);
	char cure[320];
	(void)snprintf(cure, sizeof(cure), "-- create topic %s (relay.dead_letter.topic)",
		       c->config.relay.dead_letter_topic);
	add(c, rc, WP_ROOM_TOPIC, "dead_letter_topic", sentence.text, &why, cure);
}

static bool is_fine(const struct check *c, const char *name)
{
	const struct wp_findings *f = &c->found.findings;
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->items[i].name, name))
			return f->items[i].level == WP_FINDING_OK;
	return false;
}

static void check_all(struct check *c)
{
	check_server(c);
	check_sslmode(c);
	/* Otherwise it would only fail for the same reason. */
	if (is_fine(c, "connection") && is_fine(c, "role") && is_fine(c, "max_wal_senders"))
		check_replication(c);
	if (!c->console.interrupted)
		check_kafka(c);
}

static int print(const struct wp_findings *findings, bool json)
{
	if (!json)
		wp_cli_print_findings(stdout, findings);
	else if (!wp_cli_print_findings_json(stdout, findings))
		return wp_cli_fail(WP_EXIT_FAILED, "the findings cannot be written as JSON");
	return wp_cli_done();
}

static int check(struct check *c, bool json)
{
	struct wp_why why;
	enum wp_rc rc = wp_console_init(&c->console, &why);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", why.text);
	check_all(c);
	bool interrupted = c->console.interrupted;
	wp_console_release(&c->console);
	int exit_code = print(&c->found.findings, json);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	if (interrupted)
		return wp_cli_fail(WP_EXIT_FAILED, "interrupted");
	return wp_findings_failure(&c->found.findings) ? WP_EXIT_FAILED : WP_EXIT_OK;
}

int wp_command_check(int argc, char **argv)
{
	static struct check c; /* large, and there is one */
	bool json = false;
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as a JSON array of level, room, about, name, what and cure",
		  &json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost check",
		.about = "Checks everything that the relay needs, in Postgres and in Kafka, and says for\n"
			 "what is missing how to cure it: SQL that psql takes as it is, or a comment that\n"
			 "names a setting. Changes nothing.",
		.options = options,
		.option_count = sizeof(options) / sizeof(options[0]),
		.exits = {
			[WP_EXIT_OK] = "the relay can run; there may be warnings",
			[WP_EXIT_FAILED] = "something is missing",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
		},
	};
	struct wp_cli_line line;
	struct wp_why why;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &c.config);
	if (exit_code == WP_EXIT_OK && wp_slot_name_check(c.config.postgres.slot, &why) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", why.text);
	if (exit_code == WP_EXIT_OK &&
	    wp_wanted_outboxes_init(&c.wanted, &c.config.outboxes, &why) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", why.text);
	if (exit_code == WP_EXIT_OK)
		exit_code = check(&c, json);
	wp_wanted_outboxes_release(&c.wanted);
	wp_config_release(&c.config);
	return exit_code;
}
