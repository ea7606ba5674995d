#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/hash.h"
#include "walpost/outbox/subjects.h"

enum { BUCKETS_FIRST = 64, AGAIN_FIRST_MS = 1000, AGAIN_MAX_MS = 30 * 1000 };

void wp_subjects_init(struct wp_subjects *s, enum wp_subjects_patience patience,
		      wp_subjects_ask ask, void *arg)
{
	*s = (struct wp_subjects){ .ask = ask, .arg = arg, .patience = patience };
}

void wp_subjects_release(struct wp_subjects *s)
{
	for (size_t i = 0; i < s->bucket_count; i++) {
		struct wp_subject *one = s->buckets[i];
		while (one != NULL) {
			struct wp_subject *next = one->next;
			free(one->trouble);
			free(one);
			one = next;
		}
	}
	free(s->buckets);
	*s = (struct wp_subjects){ 0 };
}

static struct wp_subject *subject_in_bucket(const struct wp_subjects *s, const char *url,
					    struct wp_span name, uint32_t version, uint64_t hash)
{
	struct wp_subject *one =
		s->bucket_count > 0 ? s->buckets[hash & (s->bucket_count - 1)] : NULL;

	while (one != NULL && !(one->hash == hash && one->version == version &&
				wp_span_is(name, one->name) && strcmp(url, one->url) == 0))
		one = one->next;
	return one;
}

/* Makes twice as many, so that there are never more subjects than buckets. */
static enum wp_rc grow_buckets(struct wp_subjects *s)
{
	size_t count = s->bucket_count == 0 ? BUCKETS_FIRST : 2 * s->bucket_count;
	struct wp_subject **buckets = calloc(count, sizeof(*buckets));

	if (buckets == NULL)
		return WP_NOMEM;
	for (size_t i = 0; i < s->bucket_count; i++) {
		struct wp_subject *one = s->buckets[i];
		while (one != NULL) {
			struct wp_subject *next = one->next;
			one->next = buckets[one->hash & (count - 1)];
			buckets[one->hash & (count - 1)] = one;
			one = next;
		}
	}
	free(s->buckets);
	s->buckets = buckets;
	s->bucket_count = count;
	return WP_OK;
}

static struct wp_subject *insert_subject(struct wp_subjects *s, const char *url,
					 struct wp_span name, uint32_t version, uint64_t hash)
{
	size_t url_size = strlen(url) + 1;

	if (s->count == s->bucket_count && grow_buckets(s) != WP_OK)
		return NULL;
	struct wp_subject *one = calloc(1, sizeof(*one) + url_size + name.size + 1);
	if (one == NULL)
		return NULL;
	char *texts = (char *)(one + 1);
	memcpy(texts, url, url_size);
	if (name.size > 0)
		memcpy(texts + url_size, name.data, name.size);
	one->url = texts;
	one->name = texts + url_size;
	one->version = version;
	one->hash = hash;
	one->due_ms = s->now_ms;
	one->next = s->buckets[hash & (s->bucket_count - 1)];
	s->buckets[hash & (s->bucket_count - 1)] = one;
	s->count++;
	s->unknown++;
	return one;
}

static enum wp_rc ask_registry(struct wp_subjects *s, struct wp_subject *one,
			       const struct wp_registry_options *options)
{
	one->is_asked = true;
	enum wp_rc rc = s->ask(s->arg, one, options);
	if (rc == WP_NOMEM)
		one->is_asked = false;
	return rc;
}

static enum wp_rc say_subject_unknown(const struct wp_subjects *s, const struct wp_subject *one,
				      struct wp_error *error)
{
	enum wp_rc rc = s->patience == WP_SUBJECTS_WAIT ? WP_AGAIN
			: one->is_refused		? WP_CONFIG
							: WP_IO;

	if (one->trouble != NULL)
		return wp_error_set(error, rc, "%s", one->trouble);
	return wp_error_set(error, rc, "the schema registry is being asked for subject %s",
			    one->name);
}

enum wp_rc wp_subjects_find(struct wp_subjects *s, const struct wp_registry_options *options,
			    struct wp_span name, uint32_t version, const struct wp_subject **ret,
			    struct wp_error *error)
{
	uint64_t hash = wp_hash(WP_HASH_BEGIN, name);
	struct wp_subject *one = subject_in_bucket(s, options->url, name, version, hash);
	struct wp_excerpt shown;

	if (one == NULL && s->count == WP_SUBJECTS_MAX)
		return wp_error_set(error, WP_CONFIG,
				    "subject %s is one more than the %d that are kept: events of "
				    "so many subjects need more than one relay",
				    wp_excerpt(&shown, name), WP_SUBJECTS_MAX);
	if (one == NULL)
		one = insert_subject(s, options->url, name, version, hash);
	if (one == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a subject");
	enum wp_rc rc = WP_OK;
	if (!one->is_asked && s->now_ms >= one->due_ms)
		rc = ask_registry(s, one, options);
	*ret = one;
	if (one->is_known)
		return WP_OK; /* what cannot be asked for again now can be later */
	return rc == WP_NOMEM ? wp_error_set(error, rc, "out of memory for a subject")
			      : say_subject_unknown(s, one, error);
}

void wp_subjects_answer(struct wp_subjects *s, struct wp_subject *subject,
			const struct wp_schema *schema, int64_t refresh_ms)
{
	if (!subject->is_known) {
		s->unknown--;
		s->known += subject->name[0] != '\0' ? 1 : 0;
	}
	subject->is_asked = false;
	subject->is_known = true;
	subject->schema = *schema;
	subject->failures = 0;
	subject->is_refused = false;
	free(subject->trouble);
	subject->trouble = NULL;
	/* The id of a version never changes. */
	subject->due_ms = subject->version != 0 ? INT64_MAX : s->now_ms + refresh_ms;
}

bool wp_subjects_fail(struct wp_subjects *s, struct wp_subject *subject, enum wp_rc rc,
		      const struct wp_error *why)
{
	int64_t wait_ms = AGAIN_FIRST_MS << (subject->failures < 5 ? subject->failures : 5);

	subject->is_asked = false;
	subject->is_refused = rc == WP_CONFIG;
	subject->due_ms = s->now_ms + (wait_ms < AGAIN_MAX_MS ? wait_ms : AGAIN_MAX_MS);
	free(subject->trouble);
	/* Without memory it waits without a reason. */
	subject->trouble = subject->is_known ? NULL : strdup(why->text);
	return subject->failures++ == 0;
}
