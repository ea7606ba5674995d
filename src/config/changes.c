/* Compares the configuration in force with one that was read anew. */
#include "walpost/config/config.h"

#include <stdio.h>
#include <string.h>

#include "walpost/base/secret_file.h"
#include "walpost/config/option.h"
#include "walpost/config/storage.h"

struct comparison {
	const struct wp_config *old;
	struct wp_config *fresh;
	wp_config_changed told;
	void *arg;
};

/* Keeps a copy of `value` in the storage of `fresh`. */
static enum wp_rc keep_value(struct wp_config *fresh, size_t index,
			     const struct wp_config_value *value)
{
	struct wp_config_value *into = &fresh->storage->values[index];

	*into = (struct wp_config_value){
		.text = wp_storage_keep(fresh->storage, value->text),
		.where = wp_storage_keep(fresh->storage, value->where),
		.set = value->set,
	};
	if (into->text == NULL || into->where == NULL)
		return WP_NOMEM;
	return wp_value_store(&wp_options[index], into->text, fresh);
}

static bool is_same_file(const struct wp_secret_file *a, const struct wp_secret_file *b)
{
	return a != NULL && b != NULL &&
	       strcmp(wp_secret_file_path(a), wp_secret_file_path(b)) == 0;
}

static enum wp_rc compare_options(const struct comparison *c)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < wp_option_count && rc == WP_OK; i++) {
		const struct wp_config_value *old = &c->old->storage->values[i];
		const struct wp_config_value *fresh = &c->fresh->storage->values[i];

		if (strcmp(old->text, fresh->text) == 0)
			continue;
		/* The next connection takes up what that file says now, without a reload. */
		if ((wp_options[i].flags & (WP_OPTION_SECRET | WP_OPTION_CONNINFO)) != 0 &&
		    is_same_file(old->file, fresh->file))
			continue;
		if (wp_option_is_live(&wp_options[i])) {
			c->told(c->arg, wp_options[i].key, WP_CONFIG_CHANGE_LIVE);
			continue;
		}
		c->told(c->arg, wp_options[i].key, WP_CONFIG_CHANGE_RESTART);
		rc = keep_value(c->fresh, i, old);
	}
	return rc;
}

/* ---- named outboxes ---- */

/* Returns NULL when it does not set that itself. */
static const char *own_text(const struct wp_config_outbox *outbox, size_t index)
{
	return outbox != NULL && outbox->values[index].set ? outbox->values[index].text : NULL;
}

static bool is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Either may be NULL: the outbox is new, or gone. */
static void compare_outbox(const struct comparison *c, const char *name,
			   const struct wp_config_outbox *old, const struct wp_config_outbox *fresh)
{
	for (size_t i = 0; i < wp_option_count; i++) {
		char key[WP_OPTION_TEXT_SIZE];

		if (is_same(own_text(old, i), own_text(fresh, i)))
			continue;
		(void)snprintf(key, sizeof(key), "outbox.%s.%s", name,
			       wp_options[i].key + strlen("outbox."));
		c->told(c->arg, key, WP_CONFIG_CHANGE_LIVE);
	}
}

static void compare_outboxes(const struct comparison *c)
{
	const struct wp_config_storage *old = c->old->storage;
	const struct wp_config_storage *fresh = c->fresh->storage;

	for (size_t i = 0; i < old->outbox_count; i++) {
		const char *name = old->outboxes[i].name;

		compare_outbox(c, name, &old->outboxes[i], wp_storage_find_outbox(fresh, name));
	}
	for (size_t i = 0; i < fresh->outbox_count; i++) {
		const char *name = fresh->outboxes[i].name;

		if (wp_storage_find_outbox(old, name) == NULL)
			compare_outbox(c, name, NULL, &fresh->outboxes[i]);
	}
}

/* ---- properties of Kafka ---- */

/* Tells those of `a` that `b` has not, or not so. */
static bool tell_properties(const struct comparison *c, const struct wp_kafka_options *a,
			    const struct wp_kafka_options *b, bool also_others)
{
	bool differs = false;

	for (size_t i = 0; i < a->property_count; i++) {
		const struct wp_property *one = &a->properties[i];
		const struct wp_property *other = wp_property_find(b, one->name);
		char key[512];

		if (other != NULL && (!also_others || strcmp(one->value, other->value) == 0 ||
				      is_same_file(one->file, other->file)))
			continue;
		(void)snprintf(key, sizeof(key), "kafka.%s", one->name);
		c->told(c->arg, key, WP_CONFIG_CHANGE_RESTART);
		differs = true;
	}
	return differs;
}

static enum wp_rc compare_properties(const struct comparison *c)
{
	const struct wp_kafka_options *old = &c->old->kafka;
	struct wp_kafka_options *fresh = &c->fresh->kafka;
	bool gone_or_other = tell_properties(c, old, fresh, true);
	bool new = tell_properties(c, fresh, old, false);

	if (!gone_or_other && !new)
		return WP_OK;
	const struct wp_kafka_options read = *fresh;
	memcpy(fresh->properties, old->properties, sizeof(fresh->properties));
	fresh->property_count = old->property_count;
	for (size_t i = 0; i < fresh->property_count; i++) {
		struct wp_property *p = &fresh->properties[i];
		const struct wp_property *now = wp_property_find(&read, p->name);

		/* The property gets its own file: the other goes with the old configuration. */
		p->file = now != NULL && is_same_file(now->file, p->file) ? now->file : NULL;
		p->name = wp_storage_keep(c->fresh->storage, p->name);
		p->value = wp_storage_keep(c->fresh->storage, p->value);
		p->where = wp_storage_keep(c->fresh->storage, p->where);
		if (p->name == NULL || p->value == NULL || p->where == NULL)
			return WP_NOMEM;
	}
	return WP_OK;
}

enum wp_rc wp_config_take_over(const struct wp_config *old, struct wp_config *fresh,
			       wp_config_changed told, void *arg)
{
	const struct comparison c = { .old = old, .fresh = fresh, .told = told, .arg = arg };

	compare_outboxes(&c);
	enum wp_rc rc = compare_options(&c);
	return rc == WP_OK ? compare_properties(&c) : rc;
}
