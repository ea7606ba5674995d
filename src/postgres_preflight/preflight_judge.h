/*
 * The parts of the preflight's judgement share this. Statements added to `cure` belong to the finding that is
 * written next.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_JUDGE_H
#define WALPOST_POSTGRES_PREFLIGHT_PREFLIGHT_JUDGE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "preflight_answer.h"
#include "walpost/base/buffer.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres/sql.h"

struct judge {
	PGconn *pg;
	const PGresult *answer;
	const struct wp_postgres_options *options;
	const struct wp_requirements *wanted;
	const struct wp_requirements_table *table; /* that is judged now; NULL: none */
	int row;
	enum wp_finding_room room; /* of the findings that are written now */
	struct wp_preflight *ret;
	struct wp_buffer cure_text;
	struct wp_sql cure;
	char quoted[1040]; /* the table's name as SQL */
	int version;
	bool in_recovery;
};

static inline bool answer_null(const struct judge *j, int column)
{
	return PQgetisnull(j->answer, j->row, column);
}

static inline const char *answer_text(const struct judge *j, int column)
{
	return PQgetvalue(j->answer, j->row, column);
}

static inline bool answer_is(const struct judge *j, int column, const char *wanted)
{
	return !answer_null(j, column) && !strcmp(answer_text(j, column), wanted);
}

/* Booleans come as 't' from a column and as 'true' out of JSON. */
static inline bool answer_yes(const struct judge *j, int column)
{
	return *answer_text(j, column) == 't';
}

static inline long answer_number(const struct judge *j, int column)
{
	return strtol(answer_text(j, column), NULL, 10);
}

/* Writes a finding; on failure `reaction` is what it calls for. */
void wp_judge_found(struct judge *j, enum wp_finding_level level, enum wp_reaction reaction,
		    const char *name, const char *format, ...) WP_PRINTF(5, 6);

/* These are the short forms, (judge, name, format, ...). WRONG means exit code 2, LOST 3; LATER may pass by itself. */
#define FOUND_OK(j_, ...) wp_judge_found((j_), WP_FINDING_OK, WP_REACT_NONE, __VA_ARGS__)
#define FOUND_WARN(j_, ...) wp_judge_found((j_), WP_FINDING_WARN, WP_REACT_NONE, __VA_ARGS__)
#define FOUND_WRONG(j_, ...) \
	wp_judge_found((j_), WP_FINDING_FAIL, WP_REACT_STOP_CONFIG, __VA_ARGS__)
#define FOUND_LOST(j_, ...) wp_judge_found((j_), WP_FINDING_FAIL, WP_REACT_STOP_HUMAN, __VA_ARGS__)
#define FOUND_LATER(j_, ...) wp_judge_found((j_), WP_FINDING_FAIL, WP_REACT_RECONNECT, __VA_ARGS__)

/* A cure and its NUL have so much room. */
#define CURE_SIZE sizeof(((struct wp_finding *)0)->cure)

/* This stands before the statements for a single thing of these. */
#define WP_INIT_MAKES_IT "-- create it with walpost init, or by hand:\n"
/* Cures a slot that cannot be used any more; see walpost/source/slot_cure.h. */
#define WP_SLOT_REPLACED "-- walpost backfill --missing --force\n"

/* Begins the judgement of `answer`, with an empty collection of statements; wp_judge_end() releases it. */
void wp_judge_begin(struct judge *j);
void wp_judge_end(struct judge *j);
/*
 * Writes "given (...), ... fitting (at, oid, relkind, nspname, relname), tables (at, schema, name,
 * is_pattern) AS (...),": all that are wanted, where a pattern's newest table stands for it; and all tables
 * that fit each pattern.
 */
void wp_preflight_add_tables(struct wp_sql *sql, const struct wp_requirements *wanted);

/* preflight_later_slot.c */
void wp_judge_slot_kept(struct judge *j);

/* preflight_provider.c; the provider is known. */
void wp_judge_provider(struct judge *j);
void wp_judge_wal_level(struct judge *j);
void wp_judge_role(struct judge *j);
/* Adds the cure that sets it, as the provider wants it; `plain` is the value without a unit. */
enum wp_apply { WP_APPLY_RELOAD, WP_APPLY_RESTART };
void wp_judge_cure_setting(struct judge *j, const char *name, const char *value, const char *plain,
			   enum wp_apply apply);
/* The same for a setting that is a list of names: `list` is as SQL has it. */
void wp_judge_cure_list(struct judge *j, const char *name, const char *list);

/* preflight_outbox.c */
void wp_judge_table(struct judge *j);
void wp_judge_publication(struct judge *j);
void wp_judge_published_table(struct judge *j);

/*
 * Which bugs that a relay can run into does a minor release of the server still have, and
 * which minor has none of them any more?
 */
/* `text` says what they do, one sentence after the other with "; " between, and names the minor that cures all. */
struct wp_minor_bugs {
	char text[800];
	size_t count;
	int cured; /* 0: there is none to cure */
};

/* A major that is not known has none. */
struct wp_minor_bugs wp_minor_bugs(int major, int minor);

/*
 * Reads synchronous_standby_names as the server does (syncrep_gram.y): a list of
 * names, perhaps in FIRST n (...) or ANY n (...) or n (...). Pure.
 */
#define WP_STANDBY_NAME_SIZE 256 /* longer names are cut, which no server name is */

/* Would a walsender of this application name be counted? Case does not matter; * counts all. */
bool wp_standby_names_count(const char *setting, const char *application);
/*
 * Writes the setting without that name, NUL-terminated. A * becomes `others` (a list of names, may be "").
 * The number asked for is lowered to the names that are left.
 */
enum wp_rc wp_standby_names_without(const char *setting, const char *application,
				    const char *others, struct wp_buffer *into) WP_MUST_CHECK;

#endif
