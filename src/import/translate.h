/*
 * The translators share this: the properties under Debezium's own names, and how to say what became
 * of each. Each translator takes the properties it knows; what none has taken falls to the rules.
 */
#ifndef WALPOST_SRC_IMPORT_TRANSLATE_H
#define WALPOST_SRC_IMPORT_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "walpost/base/error.h"
#include "walpost/config/config.h"
#include "walpost/config/option.h"
#include "walpost/import/import.h"
#include "walpost/import/properties.h"
#include "walpost/outbox/names.h"

/*
 * A report tells what becomes of a foreign configuration, line by line: what a property was, what is
 * to be said about it, and the setting it became. It is printed as a walpost.conf, in the order of
 * its sections.
 *
 * Owns: the texts. Pure. An allocation that fails is remembered (`rc`), and nothing more is added.
 */
enum wp_import_verdict {
	WP_IMPORT_TRANSLATED,
	WP_IMPORT_DROPPED,     /* it means nothing here */
	WP_IMPORT_FILL_IN,     /* no consumer sees it, but walpost needs it */
	WP_IMPORT_CHECK,       /* assumed; a consumer would see it if it is not so */
	WP_IMPORT_UNSUPPORTED, /* a consumer would see it */
};

#define WP_IMPORT_REST "" /* the section behind all others, for what became nothing */

struct wp_import_line {
	const char *section; /* "postgres", "outbox.orders", ...; WP_IMPORT_REST */
	const char *about;   /* a property's name; NULL: the line goes with the one before */
	const char *shown;   /* its value; NULL: better not */
	enum wp_import_verdict verdict;
	const char *error;   /* a sentence; NULL: the setting says it all */
	const char *key;     /* of the setting, without its section; NULL: there is none */
	const char *value;   /* its value, as it is to be read */
	bool is_placeholder; /* its value is to be filled in, and so are the settings below it */
	bool is_final;	     /* nothing else matters then: it is not for walpost */
};

struct wp_import_entry {
	struct wp_import_line line;
	const char *refused; /* why walpost itself would not take the setting; NULL: it does;
				"": that is said above it */
};

struct wp_import_report {
	struct wp_import_entry *entries; /* owned */
	size_t count;
	size_t capacity;
	char **texts; /* owned, each and the array */
	size_t text_count;
	size_t text_capacity;
	const char *form;	 /* what was read, in words; constant */
	char about_version[128]; /* which Debezium is imitated: a sentence */
	const char *old_sign;	 /* a name by which the configuration is of 1.x; NULL: it is not */
	enum wp_rc rc;		 /* WP_OK or WP_NOMEM; sticky */
};

void wp_import_report_release(struct wp_import_report *r);
/* Copies all texts. */
void wp_import_report_add(struct wp_import_report *r, const struct wp_import_line *line);
/* Returns a copy that lives as long as the report, or "" without memory. */
const char *wp_import_keep(struct wp_import_report *r, const char *text);
/* Does it make an exit code of 1? */
bool wp_import_is_change(const struct wp_import_entry *entry);

void wp_import_report_print(const struct wp_import_report *r, FILE *out);
/*
 * Has walpost itself look at the settings; what it would not take is left out, with its words. Fails
 * with WP_NOMEM.
 */
enum wp_rc wp_import_report_judge(struct wp_import_report *r) WP_MUST_CHECK;

enum wp_import_match { WP_IMPORT_MATCH, WP_IMPORT_NO_MATCH, WP_IMPORT_UNKNOWN };

#define WP_IMPORT_WORD_SIZE 256
#define WP_IMPORT_ROUTER "io.debezium.transforms.outbox.EventRouter"

/* Tells whose property an item is. */
enum wp_import_kind {
	WP_IMPORT_CONNECTOR, /* of connector, transforms, converters; key without debezium.source. */
	WP_IMPORT_PRODUCER,  /* key as Java's Kafka producer has it */
	WP_IMPORT_FORMAT,    /* Debezium Server's debezium.format.* */
	WP_IMPORT_SINK,	     /* Debezium Server's debezium.sink.* */
	WP_IMPORT_OUTSIDE,   /* not Debezium's: around "config", or Quarkus's */
};

struct wp_import_item {
	const char *name; /* as it stands in the file */
	const char *key;  /* without what its kind says */
	const char *value;
	unsigned line;
	enum wp_import_kind kind;
	bool taken;
	bool renamed;	   /* `key` is its newer name */
	bool elsewhere;	   /* its value, or a part: a placeholder, which somebody fills in */
	bool is_unescaped; /* ${routedByValue}, which Debezium Server takes for a variable */
	bool is_halved;	   /* two dollar signs of the file are one of `value` */
	bool is_reference; /* `value` is ${provider:...} of Kafka Connect, and no secret itself */
	bool has_default;  /* `value` has what stands in ${NAME:default} */
	bool beside;	   /* "config", in the object around it */
	bool any_value;	   /* what is said of it is the same whatever its value */
	bool concealed;	   /* its value is not shown: it could be anything, a secret too */
};

enum wp_import_form { WP_IMPORT_RAW, WP_IMPORT_JSON, WP_IMPORT_JSON_SCHEMA, WP_IMPORT_OTHER };

struct wp_import_forms {
	enum wp_import_form key;
	enum wp_import_form value;
	enum wp_import_form header;
};

struct wp_translation {
	struct wp_import_item *items; /* owned */
	size_t count;
	bool is_server; /* Debezium Server's, not Kafka Connect's */
	struct wp_import_version version;
	struct wp_import_forms forms;
	bool places_columns;		    /* in headers or in the value */
	bool places_in_value;		    /* in the value */
	bool decodes_messages;		    /* logical messages are made rows */
	bool has_sections;		    /* outboxes stand in [outbox.NAME] */
	bool has_schema;		    /* some converter writes schemas */
	bool ignores_missing;		    /* a column that is not there is left out */
	const char *typed;		    /* whose mark names the columns that types are about */
	bool has_decoder;		    /* a transform decodes logical messages */
	char keys[4 * WP_IMPORT_WORD_SIZE]; /* columns of the routers' keys, as a list */
	struct wp_import_report *report;    /* borrowed */
};

/* -- asking ---------------------------------------------------------------------- */

/* Returns the one that counts, or NULL if there is none. */
struct wp_import_item *wp_import_find(struct wp_translation *t, enum wp_import_kind kind,
				      const char *key);
/* Returns the connector's value, or `standard`. Takes nothing. */
const char *wp_import_value(struct wp_translation *t, const char *key, const char *standard);
/* Finds an option of a transform: its key is `option` behind "transforms.ALIAS.". */
struct wp_import_item *wp_import_option(struct wp_translation *t, const char *family,
					const char *alias, const char *option);
/* Debezium 2.0 gave these options of the EventRouter another name: the name since then, and the older one. */
#define WP_IMPORT_OLD_OPTIONS 2
extern const char *const wp_import_old_options[WP_IMPORT_OLD_OPTIONS][2];
/* Finds an option of an EventRouter; before 2.0 also by its older name. */
struct wp_import_item *wp_import_router_option(struct wp_translation *t, const char *alias,
					       const char *option);
bool wp_import_is(const char *value, const char *word); /* whatever the case and outer spaces */
bool wp_import_is_true(const struct wp_import_item *item, bool standard);
/* Has it a login or parameters of an address, a password, or a key in it? In doubt it has. */
bool wp_import_may_be_secret(const char *value);
/* Returns the value as it may stand in a sentence. */
const char *wp_import_shown(const char *value);

/*
 * Reads the next word of a comma-separated list, without outer spaces, and moves `at`. Returns false
 * at the list's end. A word that is too long comes out empty.
 */
bool wp_import_next(const char **at, char word[WP_IMPORT_WORD_SIZE]);
/* Is it an expression that Java and PCRE2 both take, each for something else? */
bool wp_import_is_of_java(const char *regex);
bool wp_import_begins(const char *text, const char *start);
bool wp_import_ends(const char *text, const char *end);
/* Returns the last part of a Java class's name. */
const char *wp_import_class(const char *name);
/*
 * Is it this class, by its whole name or by one of the short ones under which a Connect worker knows
 * it: without the package, and without Converter or Connector at its end? No worker takes a short
 * name that would mean two classes.
 */
bool wp_import_is_class(const char *value, const char *class);
/* Is it another class, of the same name in another package? */
bool wp_import_is_namesake(const char *value, const char *class);

/* Is the imitated Debezium older than this one? */
enum wp_import_age { WP_IMPORT_BEFORE, WP_IMPORT_SINCE, WP_IMPORT_EITHER };
enum wp_import_age wp_import_age(const struct wp_translation *t, unsigned version);
/* Sets the version: `given`, or, if that is NULL, what the properties tell. */
void wp_import_find_version(struct wp_translation *t, const struct wp_import_version *given);
/* Has the value of this property a part that can only be filled in: ${NAME}, {{ .Values.name }}? */
bool wp_import_has_placeholder(const char *key, const char *value);

/* -- saying ---------------------------------------------------------------------- */

/*
 * Says what became of a property, which is taken then. If `error` is NULL, what follows says it. A
 * value that stands elsewhere is neither translated nor judged: that is said in place of `error`.
 */
void wp_import_say(struct wp_translation *t, const char *section, struct wp_import_item *item,
		   enum wp_import_verdict verdict, const char *error, ...) WP_PRINTF(5, 6);
/* Says something of what is not there, or is not a property. */
void wp_import_note(struct wp_translation *t, const char *section, const char *about,
		    enum wp_import_verdict verdict, const char *error, ...) WP_PRINTF(5, 6);
/* Marks what was said last: it says that this is not for walpost at all. */
void wp_import_end(struct wp_translation *t);
/* Adds a setting below what was said last; if no line of a file can hold it, that is said instead. */
void wp_import_set(struct wp_translation *t, const char *section, const char *key,
		   const char *value);
/* Has it been set? */
bool wp_import_is_set(const struct wp_translation *t, const char *section, const char *key);

/* -- the translators ------------------------------------------------------------- */

/* Finds which converters there are; the settings come with wp_import_say_forms(). */
void wp_import_find_forms(struct wp_translation *t);
void wp_import_postgres(struct wp_translation *t);
void wp_import_outbox(struct wp_translation *t);
void wp_import_messages(struct wp_translation *t);
void wp_import_say_forms(struct wp_translation *t);
void wp_import_kafka(struct wp_translation *t);
/* Translates Kafka's login if it is one with a token: mechanism, handlers and JAAS are said then. */
bool wp_import_login(struct wp_translation *t);
void wp_import_rules(struct wp_translation *t);

/* Translates the options of an EventRouter into the section: all but the table. */
void wp_import_router(struct wp_translation *t, const char *alias, const char *section);
/* Translates table.expand.json.payload, and what it takes. */
void wp_import_expand(struct wp_translation *t, const char *alias, const char *section);
/* Translates the option about columns that the table does not have. */
void wp_import_missing(struct wp_translation *t, const char *alias, const char *section);
/* Does the EventRouter leave such columns out? */
bool wp_import_ignores_missing(struct wp_translation *t, const char *alias);
/* Is the value JSON? */
bool wp_import_is_structured(const struct wp_translation *t);
/* Looks at what the EventRouter's placements are about, before anything is said. */
void wp_import_router_look(struct wp_translation *t, const char *alias);

/* These tell which tables Debezium captures, and which of them an EventRouter gets. */
#define WP_IMPORT_TABLES_MAX 32
#define WP_IMPORT_TOPIC_SIZE (WP_IMPORT_WORD_SIZE + 2 * WP_NAME_SIZE)

struct wp_import_table {
	struct wp_table_name name;	       /* letters as they stand in the list */
	char text[WP_TABLE_NAME_TEXT_SIZE];    /* as outbox.table takes it */
	char topic[WP_IMPORT_TOPIC_SIZE];      /* as a predicate sees it: prefix.schema.table */
	char section[WP_OUTBOX_NAME_SIZE + 8]; /* "outbox", or a name of its own */
	bool capitals; /* in its name, of which Debezium takes no notice: it may be another */
	bool routed;   /* by some router */
	bool aside;    /* of heartbeats or signals, and no outbox */
};

enum wp_import_listed {
	WP_IMPORT_LISTED,     /* `items` are all of them */
	WP_IMPORT_NOT_LISTED, /* there is no list: all tables */
	WP_IMPORT_UNCLEAR,    /* there are expressions among them that could be any */
};

struct wp_import_tables {
	struct wp_import_table items[WP_IMPORT_TABLES_MAX];
	size_t count;
	enum wp_import_listed listed;
};

/* Reads schema.table, a dot escaped or not between two plain names: an expression that means one table. */
bool wp_import_table_name(const char *word, struct wp_table_name *ret);
void wp_import_tables_find(struct wp_translation *t, struct wp_import_tables *ret);
/* Does the expression match all of the name, in any case of letters? */
enum wp_import_match wp_import_matches_name(struct wp_translation *t, const char *pattern,
					    const char *name);
/* Judges lists of schemas and columns that leave something of the outboxes out. */
void wp_import_selection(struct wp_translation *t, const struct wp_import_tables *tables);
/* Gives each table its [outbox.NAME], after its name. */
void wp_import_tables_name(struct wp_import_tables *tables);

#define WP_IMPORT_ASIDES_MAX 16

struct wp_import_asides {
	struct wp_table_name names[WP_IMPORT_ASIDES_MAX];
	size_t count;
};

/* Finds tables of heartbeats and signals; those of the list are marked. `router` is the first alias. */
void wp_import_asides_find(struct wp_translation *t, const char *router,
			   struct wp_import_tables *tables, struct wp_import_asides *ret);

/* This is a table that a query writes. */
struct wp_import_written {
	struct wp_table_name name; /* without a schema: where search_path finds it */
	bool unclear;		   /* its name cannot be read */
	bool inserts;		   /* and says not what becomes of a row that is there already */
	bool has_list;		   /* of columns */
	bool names_column;	   /* one of those that were asked for */
};
#define WP_IMPORT_COLUMNS 2

/*
 * Finds the next table that the SQL writes by INSERT, UPDATE or MERGE, and moves `at`. Returns false
 * at the SQL's end. Names are read as PostgreSQL reads them.
 */
bool wp_import_next_written(const char **at, const char *const columns[WP_IMPORT_COLUMNS],
			    struct wp_import_written *ret);
/* Reads name or schema.name, each part plain or in double quotes; letters stay as they stand. */
bool wp_import_read_name(const char *text, struct wp_table_name *ret);

/* Does the predicate of this transform let the table's rows through? */
enum wp_import_match wp_import_predicate(struct wp_translation *t, const char *alias,
					 const struct wp_import_table *table);
/* Does it let logical messages through? */
enum wp_import_match wp_import_message_predicate(struct wp_translation *t, const char *alias);

#endif
