#include <string.h>
#include <sys/stat.h>

#include "walpost/kafka/secrets.h"
#include "walpost/base/secret_file.h"

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

static bool names_a_file(const struct wp_property *p)
{
	static const char *const names[] = {
		"ssl.certificate.location", "ssl.key.location",	     "ssl.ca.location",
		"ssl.crl.location",	    "ssl.keystore.location",
	};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(p->name, names[i]) == 0)
			return true;
	}
	return false;
}

static const char *path_of(const struct wp_property *p)
{
	if (p->file != NULL)
		return wp_secret_file_is_regular(p->file) ? wp_secret_file_path(p->file) : NULL;
	return names_a_file(p) ? p->value : NULL;
}

void wp_secrets_init(struct wp_secrets *s, const struct wp_kafka_options *options)
{
	*s = (struct wp_secrets){ .count = 0 };
	for (size_t i = 0; i < options->property_count && s->count < WP_SECRETS_MAX; i++) {
		const struct wp_property *p = &options->properties[i];
		const char *path = path_of(p);
		if (path != NULL)
			s->list[s->count++] =
				(struct wp_watched){ .property = p->name, .path = path };
	}
}

static struct wp_stamp stamp_of(const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return (struct wp_stamp){ .exists = false };
	return (struct wp_stamp){
		.exists = true,
		.device = (uint64_t)facts.st_dev,
		.inode = (uint64_t)facts.st_ino,
		.size = (uint64_t)facts.st_size,
		.seconds = (int64_t)facts.st_mtim.tv_sec,
		.nanoseconds = (int64_t)facts.st_mtim.tv_nsec,
		.is_folder = S_ISDIR(facts.st_mode),
	};
}

static bool is_same(const struct wp_stamp *a, const struct wp_stamp *b)
{
	return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

void wp_secrets_apply(struct wp_secrets *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->list[i].applied = s->list[i].seen;
}

static bool is_changed(const struct wp_watched *w)
{
	return !is_same(&w->seen, &w->applied);
}

static const struct wp_watched *find_unusable(const struct wp_secrets *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_watched *w = &s->list[i];
		bool is_empty = w->seen.size == 0 && !w->seen.is_folder;
		if (is_changed(w) && (!w->seen.exists || is_empty))
			return w;
	}
	return NULL;
}

/* Takes the new stamps; returns true when one is otherwise than before. */
static bool see(struct wp_secrets *s)
{
	bool differs = false;

	for (size_t i = 0; i < s->count; i++) {
		struct wp_stamp now = stamp_of(s->list[i].path);
		differs = differs || !is_same(&now, &s->list[i].seen);
		s->list[i].seen = now;
	}
	return differs;
}

enum wp_secrets_state wp_secrets_check(struct wp_secrets *s, struct wp_error *error)
{
	bool differs = see(s);
	const struct wp_watched *unusable = find_unusable(s);
	bool changed = false;

	for (size_t i = 0; i < s->count; i++)
		changed = changed || is_changed(&s->list[i]);
	if (!changed)
		return WP_SECRETS_SAME;
	if (differs)
		return WP_SECRETS_UNSETTLED;
	if (unusable == NULL)
		return WP_SECRETS_CHANGED;
	(void)wp_error_set(error, WP_CONFIG, "%s: %s is %s; put it back", unusable->property,
			   unusable->path, unusable->seen.exists ? "empty" : "gone");
	return WP_SECRETS_UNUSABLE;
}

bool wp_secrets_is_login(const struct wp_secrets *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_watched *w = &s->list[i];
		bool is_login = strcmp(w->property, "sasl.username") == 0 ||
				strcmp(w->property, "sasl.password") == 0;
		if (is_changed(w) && !is_login)
			return false;
	}
	return true;
}

void wp_secrets_changed(const struct wp_secrets *s, struct wp_error *ret)
{
	struct wp_error before;

	ret->text[0] = '\0';
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_watched *w = &s->list[i];
		if (!is_changed(w))
			continue;
		before = *ret;
		(void)wp_error_set(ret, WP_OK, "%s%s%s (%s)", before.text,
				   before.text[0] != '\0' ? ", " : "", w->property, w->path);
	}
}
