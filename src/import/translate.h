/*
 * Shared by the translators: the properties under Debezium's own names, and how to say what became
 * of each. Each translator takes the properties it knows; what none has taken falls to the rules.
 */
#ifndef WALPOST_SRC_IMPORT_TRANSLATE_H
#define WALPOST_SRC_IMPORT_TRANSLATE_H

#include "report.h"
#include "walpost/config/option.h"
#include "walpost/import/properties.h"
#include "walpost/outbox/names.h"

#define WP_IMPORT_WORD_SIZE 256

/* Whose property it is. */
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
	bool elsewhere; /* its value, or a part: ${...}, which Connect or Quarkus fills in */
	bool beside;	/* "config", in the object around it */
	bool concealed; /* its value is not shown: it could be anything, a secret too */
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
	bool is_old;	/* of a Debezium before 2.0 */
	struct wp_import_forms forms;
	bool places_columns;		    /* in headers or in the value */
	bool places_in_value;		    /* in the value */
	bool decodes_messages;		    /* logical messages are made rows */
	bool has_sections;		    /* outboxes stand in [outbox.NAME] */
	bool has_schema;		    /* some converter writes schemas */
	char keys[4 * WP_IMPORT_WORD_SIZE]; /* columns of the routers' keys, as a list */
	struct wp_import_report *report;    /* borrowed */
};

/* -- asking ---------------------------------------------------------------------- */

/* The one that counts, or NULL: not there. */
struct wp_import_item *wp_import_find(struct wp_translation *t, enum wp_import_kind kind,
				      const char *key);
/* The connector's value, or `standard`. Takes nothing. */
const char *wp_import_value(struct wp_translation *t, const char *key, const char *standard);
/* Of a transform: its option's name is `key` without "transforms.ALIAS.". */
struct wp_import_item *wp_import_option(struct wp_translation *t, const char *family,
					const char *alias, const char *option);
bool wp_import_is(const char *value, const char *word); /* whatever the case and outer spaces */
bool wp_import_is_true(const struct wp_import_item *item, bool standard);

/*
 * The next word of a comma-separated list, without outer spaces; false at its end. `at` is
 * moved. A word that is too long comes out empty.
 */
bool wp_import_next(const char **at, char word[WP_IMPORT_WORD_SIZE]);
/* An expression that Java and PCRE2 both take, each for something else. */
bool wp_import_is_of_java(const char *regex);
bool wp_import_begins(const char *text, const char *start);
/* The last part of a Java class's name. */
const char *wp_import_class(const char *name);
/*
 * Is it this class? By its whole name, or by one of the short ones under which a Connect worker
 * knows it: without the package, and without Converter or Connector at its end. A short name that
 * would mean two classes no worker takes.
 */
bool wp_import_is_class(const char *value, const char *class);
/* Is it another class, of the same name in another package? */
bool wp_import_is_namesake(const char *value, const char *class);

/* -- saying ---------------------------------------------------------------------- */

/*
 * What became of a property, which is taken then. `error` NULL: what follows says it. A value that
 * stands elsewhere is not translated: that is said in place of `error`.
 */
void wp_import_say(struct wp_translation *t, const char *section, struct wp_import_item *item,
		   enum wp_import_verdict verdict, const char *error, ...) WP_PRINTF(5, 6);
/* Of what is not there, or not a property. */
void wp_import_note(struct wp_translation *t, const char *section, const char *about,
		    enum wp_import_verdict verdict, const char *error, ...) WP_PRINTF(5, 6);
/* A setting, below what was said last; one that no line of a file can hold is said instead. */
void wp_import_set(struct wp_translation *t, const char *section, const char *key,
		   const char *value);

/* -- the translators ------------------------------------------------------------- */

/* Which converters there are; the settings come with wp_import_say_forms(). */
void wp_import_find_forms(struct wp_translation *t);
void wp_import_postgres(struct wp_translation *t);
void wp_import_outbox(struct wp_translation *t);
void wp_import_messages(struct wp_translation *t);
void wp_import_say_forms(struct wp_translation *t);
void wp_import_kafka(struct wp_translation *t);
void wp_import_rules(struct wp_translation *t);

/* The options of an EventRouter into the section: all but the table. */
void wp_import_router(struct wp_translation *t, const char *alias, const char *section);
/* What its placements are about, before anything is said. */
void wp_import_router_look(struct wp_translation *t, const char *alias);

/* Which tables Debezium captures, and which of them an EventRouter gets. */
#define WP_IMPORT_TABLES_MAX 32
#define WP_IMPORT_TOPIC_SIZE (WP_IMPORT_WORD_SIZE + 2 * WP_NAME_SIZE)

struct wp_import_table {
	struct wp_table_name name;	       /* letters as they stand in the list */
	char text[WP_TABLE_NAME_TEXT_SIZE];    /* as outbox.table takes it */
	char topic[WP_IMPORT_TOPIC_SIZE];      /* as a predicate sees it: prefix.schema.table */
	char section[WP_OUTBOX_NAME_SIZE + 8]; /* "outbox", or a name of its own */
	bool capitals; /* in its name, of which Debezium takes no notice: it may be another */
	bool routed;   /* by some router */
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

/* schema.table, a dot escaped or not between two plain names: an expression that means one table. */
bool wp_import_table_name(const char *word, struct wp_table_name *ret);
void wp_import_tables_find(struct wp_translation *t, struct wp_import_tables *ret);
/* [outbox.NAME] for each, after its name. */
void wp_import_tables_name(struct wp_import_tables *tables);

enum wp_import_match { WP_IMPORT_MATCH, WP_IMPORT_NO_MATCH, WP_IMPORT_UNKNOWN };
/* Does the predicate of this transform let the table's rows through? */
enum wp_import_match wp_import_predicate(struct wp_translation *t, const char *alias,
					 const struct wp_import_table *table);

#endif
