/* Checks what takes more than one value, or the knowledge of the room that will use it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/postgres/conninfo.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"
#include "walpost/config/option.h"
#include "walpost/http/address.h"
#include "walpost/login/words.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"

struct check {
	const struct wp_config *config;
	struct wp_config_notes *notes;
	enum wp_rc rc; /* WP_OK or WP_NOMEM; sticky */
};

/* Notes what a parser said about the value of `key`. */
static void judge(struct check *c, const char *key, enum wp_rc rc, const struct wp_error *error)
{
	const struct wp_key found = wp_key_of(key);
	const char *plain = found.option->key;
	const char *text = wp_storage_value(c->config->storage, &found)->text;
	const char *where = wp_config_where(c->config, key);
	char shown[WP_SHOWN_SIZE];

	if (rc == WP_NOMEM)
		c->rc = WP_NOMEM;
	else if (rc != WP_OK && strncmp(error->text, plain, strlen(plain)) == 0)
		wp_config_error(c->notes, "%s: %s%s", where, key, error->text + strlen(plain));
	else if (rc != WP_OK)
		wp_config_error(c->notes, "%s: %s = %s: %s", where, key,
				wp_value_shown(key, text, shown), error->text);
}

/* Writes the key of an outbox as its user knows it: outbox.NAME.table. */
static char *key_in(const struct wp_outbox_options *o, const char *key, char *text)
{
	const char *bare = key + strlen("outbox.");

	(void)snprintf(text, WP_OPTION_TEXT_SIZE, "outbox.%s%s%s", o->name,
		       o->name[0] == '\0' ? "" : ".", bare);
	return text;
}

static void judge_in(struct check *c, const struct wp_outbox_options *o, const char *key,
		     enum wp_rc rc, const struct wp_error *error)
{
	char text[WP_OPTION_TEXT_SIZE];

	judge(c, key_in(o, key, text), rc, error);
}

/* The sentence begins with the key that is to blame. */
static void judge_named(struct check *c, const struct wp_outbox_options *o, enum wp_rc rc,
			const struct wp_error *error)
{
	char key[WP_OPTION_TEXT_SIZE];

	(void)snprintf(key, sizeof(key), "%.*s", (int)strcspn(error->text, " "), error->text);
	if (rc == WP_NOMEM)
		c->rc = WP_NOMEM;
	else if (rc != WP_OK)
		judge_in(c, o, wp_option_find(key) != NULL ? key : "outbox.table", rc, error);
}

static void check_required(struct check *c)
{
	for (size_t i = 0; i < wp_option_count; i++) {
		const struct wp_option *option = &wp_options[i];
		char variable[WP_OPTION_TEXT_SIZE];
		size_t section_size = wp_option_section_size(option->key);

		if ((option->flags & WP_OPTION_REQUIRED) == 0 || c->config->storage->values[i].set)
			continue;
		wp_config_error(
			c->notes,
			"%s is missing: write `%s = %s` under [%.*s] in the file, or set %s",
			option->key, option->key + section_size + 1, option->example,
			(int)section_size, option->key, wp_option_variable(option, variable));
	}
}

static void check_conninfo(struct check *c)
{
	struct wp_error error;

	judge(c, "postgres.conninfo", wp_conninfo_check(c->config->postgres.conninfo, &error),
	      &error);
}

/* The name may be what Postgres itself allows (ReplicationSlotValidateName). */
static void check_slot(struct check *c)
{
	const char *slot = c->config->postgres.slot;
	struct wp_error error;

	if (strspn(slot, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(slot))
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "a slot's name consists of lower-case letters, digits and underscores");
	judge(c, "postgres.slot", WP_CONFIG, &error);
}

/* The value is written as Postgres takes memory settings: 64kB at least, a bare number means kB. */
static void check_work_mem(struct check *c)
{
	static const struct {
		const char *name;
		int64_t kib;
	} units[] = { { "", 1 }, { "kB", 1 }, { "MB", 1024 }, { "GB", 1024 * 1024 } };
	const char *text = c->config->postgres.decoding_work_mem;
	size_t digits = strspn(text, "0123456789");
	struct wp_error error;
	int64_t number = 0;

	if (text[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(text + digits, units[i].name) == 0 &&
		    wp_value_number(text, digits, INT32_MAX / units[i].kib, &number) &&
		    number * units[i].kib >= 64)
			return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "it must be a size as in postgresql.conf, such as 256MB: from 64kB to "
			   "2047GB, with a unit of kB, MB, GB");
	judge(c, "postgres.decoding_work_mem", WP_CONFIG, &error);
}

static void check_patterns(struct check *c, const char *list, const char *key)
{
	struct wp_patterns *patterns = NULL;
	struct wp_error error;
	enum wp_rc rc = wp_patterns_new(list, &patterns, &error);

	judge(c, key, rc, &error);
	if (rc == WP_OK)
		wp_patterns_free(patterns);
}

static void check_source(struct check *c, const struct wp_outbox_options *o)
{
	char key[WP_OPTION_TEXT_SIZE];
	char table_key[WP_OPTION_TEXT_SIZE];
	struct wp_table_name table;
	struct wp_error error;

	if (o->table[0] == '\0' && o->message_prefix[0] == '\0') {
		wp_config_error(c->notes,
				"%s is missing: name the table, or set message.prefix for events "
				"sent as logical messages",
				key_in(o, "outbox.table", key));
		return;
	}
	if (o->table[0] != '\0')
		judge_in(c, o, "outbox.table",
			 wp_table_is_pattern(o->table)
				 ? wp_table_pattern_parse(o->table, &table, &error)
				 : wp_table_name_parse(o->table, &table, &error),
			 &error);
	else if (o->leaves[0] != '\0')
		wp_config_error(c->notes,
				"%s names leaves of a partitioned table, but no table is named: "
				"set %s too, or remove the leaves",
				key_in(o, "outbox.leaves", key),
				key_in(o, "outbox.table", table_key));
	check_patterns(c, o->leaves, key_in(o, "outbox.leaves", key));
}

/* When it is no outbox itself, [outbox] does not say whose leaves they are. */
static void check_leaves(struct check *c)
{
	const struct wp_config_storage *s = c->config->storage;
	const struct wp_outboxes *outboxes = &c->config->outboxes;

	if (s->outbox_count == 0 || outboxes->items[0].name[0] == '\0' ||
	    c->config->outbox.leaves[0] == '\0')
		return;
	wp_config_error(c->notes,
			"%s: outbox.leaves applies to one table and is not inherited: set it in "
			"the section that names the table, as outbox.%s.leaves",
			wp_config_where(c->config, "outbox.leaves"), outboxes->items[0].name);
}

/* No table is known of a message. */
static void judge_origin(struct check *c, const struct wp_outbox_options *o, const char *option,
			 bool is_named)
{
	struct wp_error error;

	if (o->message_prefix[0] == '\0' || !is_named)
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "${schema} and ${table} are those of a row, and logical messages have "
			   "none: remove them, or outbox.message.prefix");
	judge_in(c, o, option, WP_CONFIG, &error);
}

/* This is for all but the topic, of which the route knows. */
static void check_origin(struct check *c, const struct wp_outbox_options *o)
{
	judge_origin(c, o, "outbox.key.prefix", wp_origin_is_named(o->key_prefix));
	judge_origin(c, o, "outbox.headers", wp_origin_is_named(o->headers));
	judge_origin(c, o, "outbox.value.columns", wp_origin_is_named(o->value_columns));
	judge_origin(c, o, "outbox.cloudevents.extensions", wp_origin_is_named(o->ce_extensions));
}

static bool is_same_table(const char *one, const char *other)
{
	struct wp_table_name a;
	struct wp_table_name b;
	struct wp_error error;

	return one[0] != '\0' && other[0] != '\0' &&
	       wp_table_name_parse(one, &a, &error) == WP_OK &&
	       wp_table_name_parse(other, &b, &error) == WP_OK && strcmp(a.schema, b.schema) == 0 &&
	       strcmp(a.name, b.name) == 0;
}

/* An event has one outbox. */
static void check_twice(struct check *c, const struct wp_outbox_options *o,
			const struct wp_outbox_options *other)
{
	char key[WP_OPTION_TEXT_SIZE];
	char other_key[WP_OPTION_TEXT_SIZE];

	if (is_same_table(o->table, other->table))
		wp_config_error(c->notes, "%s and %s name the same table: keep one of them",
				key_in(other, "outbox.table", other_key),
				key_in(o, "outbox.table", key));
	if (o->message_prefix[0] != '\0' && strcmp(o->message_prefix, other->message_prefix) == 0)
		wp_config_error(c->notes, "%s and %s are the same: keep one of them",
				key_in(other, "outbox.message.prefix", other_key),
				key_in(o, "outbox.message.prefix", key));
}

/* The expression is checked alone first, so that the right one of the two is blamed. */
static bool check_route(struct check *c, const struct wp_outbox_options *o)
{
	struct wp_route *route = NULL;
	struct wp_error error;
	enum wp_rc rc = wp_route_new(o->topic_regex, "topic", &route, &error);

	judge_in(c, o, "outbox.topic.regex", rc, &error);
	if (rc != WP_OK)
		return false;
	wp_route_free(route);
	rc = wp_route_new(o->topic_regex, o->topic_replacement, &route, &error);
	judge_in(c, o, "outbox.topic.replacement", rc, &error);
	if (rc != WP_OK)
		return false;
	judge_origin(c, o, "outbox.topic.replacement", wp_route_has_origin(route));
	wp_route_free(route);
	return true;
}

static void check_shape(struct check *c, const struct wp_outbox_options *o)
{
	struct wp_shape *shape = NULL;
	struct wp_error error;
	enum wp_rc rc = wp_shape_new(o, 1024, &shape, &error);

	judge_named(c, o, rc, &error);
	if (rc == WP_OK)
		wp_shape_free(shape);
}

static void check_expired(struct check *c, const struct wp_outbox_options *o)
{
	struct wp_error error;

	if (o->expired != WP_EXPIRED_DEAD_LETTER || c->config->relay.dead_letter_topic[0] != '\0')
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "dead-letter needs relay.dead_letter.topic: name a topic for the events "
			   "that have expired");
	judge_in(c, o, "outbox.expired", WP_CONFIG, &error);
}

static void check_cleaned(struct check *c, const struct wp_outbox_options *o)
{
	const struct wp_cleanup_options *cleanup = &c->config->relay.cleanup;
	struct wp_error error;
	const char *key = NULL;

	if (cleanup->mode == WP_CLEANUP_NONE || o->table[0] == '\0' ||
	    o->column_inserted[0] == '\0')
		return;
	if (wp_table_is_pattern(o->table)) {
		key = "outbox.table";
		(void)wp_error_set(&error, WP_CONFIG,
				   "cleanup removes no rows of a pattern's tables: set "
				   "cleanup.mode = none, or leave column.inserted empty in this "
				   "section");
	} else if (cleanup->mode == WP_CLEANUP_MARK && o->column_processed[0] == '\0') {
		key = "outbox.column.processed";
		(void)wp_error_set(&error, WP_CONFIG,
				   "cleanup.mode = mark needs the column that it sets");
	} else if (cleanup->mode == WP_CLEANUP_MARK &&
		   strcmp(o->column_processed, o->column_inserted) == 0) {
		key = "outbox.column.processed";
		(void)wp_error_set(
			&error, WP_CONFIG,
			"it is outbox.column.inserted, which must not change: name another column");
	} else if (cleanup->dropped == WP_CLEANUP_DROPPED_ERROR && wp_dropping_option(o) != NULL) {
		key = wp_dropping_option(o);
		(void)wp_error_set(&error, WP_CONFIG,
				   "cleanup would remove rows of events that are dropped, and so "
				   "are not in Kafka: if they may go, set cleanup.dropped = "
				   "remove; else set outbox.expired = dead-letter and no "
				   "skip.types, or no column.inserted in this section");
	} else if (cleanup->mode == WP_CLEANUP_MARK && o->on_update == WP_ON_UPDATE_STOP) {
		key = "outbox.on_update";
		(void)wp_error_set(&error, WP_CONFIG,
				   "stop would stop the relay when cleanup.mode = mark updates a "
				   "row: use warn");
	}
	if (key != NULL)
		judge_in(c, o, key, WP_CONFIG, &error);
}

static void check_cleanup(struct check *c)
{
	const struct wp_outboxes *all = &c->config->outboxes;
	bool any = false;

	if (c->config->relay.cleanup.mode == WP_CLEANUP_NONE)
		return;
	for (size_t i = 0; i < all->count; i++)
		any = any ||
		      (all->items[i].table[0] != '\0' && all->items[i].column_inserted[0] != '\0');
	if (!any)
		wp_config_error(c->notes, "cleanup.mode needs outbox.column.inserted: name the "
					  "column with the time at which a row was inserted");
	if (c->config->relay.sink != WP_SINK_KIND_KAFKA)
		wp_config_error(c->notes, "cleanup.mode needs relay.sink = kafka: the rows of "
					  "events that are only printed stay");
}

static void check_outboxes(struct check *c)
{
	const struct wp_outboxes *all = &c->config->outboxes;

	check_patterns(c, all->ignore, "outbox.ignore");
	for (size_t i = 0; i < all->count; i++) {
		check_source(c, &all->items[i]);
		check_origin(c, &all->items[i]);
		check_expired(c, &all->items[i]);
		check_cleaned(c, &all->items[i]);
		for (size_t j = 0; j < i; j++)
			check_twice(c, &all->items[i], &all->items[j]);
		if (check_route(c, &all->items[i]))
			check_shape(c, &all->items[i]);
	}
}

static void check_dead_letter(struct check *c)
{
	const struct wp_relay_options *relay = &c->config->relay;
	const char *topic = relay->dead_letter_topic;
	struct wp_error error;

	if (relay->poison == WP_POISON_DEAD_LETTER && topic[0] == '\0')
		wp_config_error(c->notes,
				"relay.poison = dead-letter needs relay.dead_letter.topic: name a "
				"topic for the events that can never be delivered");
	if (topic[0] == '\0' || wp_topic_name_trouble(topic) == NULL)
		return;
	(void)wp_error_set(&error, WP_CONFIG, "the name of the topic %s",
			   wp_topic_name_trouble(topic));
	judge(c, "relay.dead_letter.topic", WP_CONFIG, &error);
}

static void check_park(struct check *c)
{
	const struct wp_park_options *park = &c->config->relay.park;

	if (park->retry_max_ms < park->retry_first_ms)
		wp_config_error(c->notes, "park.retry.max is less than park.retry.first, which is "
					  "the time until the first attempt: raise it");
}

static void check_brokers(struct check *c)
{
	const struct wp_kafka_options *kafka = &c->config->kafka;

	if (c->config->relay.sink != WP_SINK_KIND_KAFKA)
		return;
	if (wp_property_find(kafka, "bootstrap.servers") != NULL ||
	    wp_property_find(kafka, "metadata.broker.list") != NULL)
		return;
	wp_config_error(c->notes, "kafka.bootstrap.servers is missing: write `bootstrap.servers = "
				  "host:9092` under [kafka] of the file, or set "
				  "WALPOST__KAFKA__BOOTSTRAP_SERVERS; or relay.sink = stdout");
}

/* Finds what a login lacks, or has too much. */
static void check_login(struct check *c, const char *section, const char *command_key,
			const struct wp_login_options *login)
{
	struct wp_words words;
	struct wp_error error;

	if (login->command[0] == '\0')
		return;
	if (login->provider != WP_LOGIN_NONE)
		wp_config_error(c->notes,
				"%s and %s.login are both set: each gives the secret; remove one",
				command_key, section);
	enum wp_rc rc = wp_words_init(&words, login->command, &error);
	judge(c, command_key, rc, &error);
	if (rc == WP_OK)
		wp_words_release(&words);
}

static void check_logins(struct check *c)
{
	const struct wp_login_options *kafka = &c->config->kafka.login_options;
	const struct wp_postgres_options *postgres = &c->config->postgres;

	check_login(c, "postgres", "postgres.password_command", &postgres->login_options);
	check_login(c, "kafka", "kafka.token_command", kafka);
	if (postgres->login != NULL &&
	    (postgres->password[0] != '\0' || postgres->password_file != NULL))
		wp_config_error(c->notes,
				"postgres.password is set beside postgres.login or "
				"postgres.password_command: each gives the password; remove one");
	if (postgres->login != NULL && wp_conninfo_has_password(postgres->conninfo))
		wp_config_error(c->notes,
				"postgres.conninfo holds a password beside postgres.login or "
				"postgres.password_command: each gives the password; remove one");
	if (kafka->provider == WP_LOGIN_FILE && kafka->file[0] == '\0')
		wp_config_error(
			c->notes,
			"kafka.login = file needs kafka.token_file: the file that holds the token");
	if (kafka->provider != WP_LOGIN_FILE && kafka->file[0] != '\0')
		wp_config_error(c->notes, "kafka.token_file is set without kafka.login = file: set "
					  "it, or remove the file");
}

static void check_listen(struct check *c)
{
	const char *listen = c->config->http.listen;
	struct wp_http_address address;
	struct wp_error error;

	if (listen[0] != '\0' && wp_http_address_parse(listen, &address, &error) != WP_OK)
		judge(c, "http.listen", WP_CONFIG, &error);
}

enum wp_rc wp_config_check(const struct wp_config *config, struct wp_config_notes *notes)
{
	struct check c = { .config = config, .notes = notes, .rc = WP_OK };
	size_t errors_before = notes->error_count;

	check_required(&c);
	check_conninfo(&c);
	check_slot(&c);
	check_work_mem(&c);
	check_outboxes(&c);
	check_leaves(&c);
	check_dead_letter(&c);
	check_park(&c);
	check_cleanup(&c);
	check_brokers(&c);
	check_logins(&c);
	check_listen(&c);
	if (c.rc != WP_OK)
		return c.rc;
	return notes->error_count > errors_before ? WP_CONFIG : WP_OK;
}
