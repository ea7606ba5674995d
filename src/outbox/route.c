#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "replacement.h"
#include "walpost/base/buffer.h"
#include "walpost/base/display.h"
#include "walpost/base/hash.h"
#include "walpost/outbox/route.h"

/* A sane expression needs some hundred steps for a raw topic; these are about a
 * millisecond and a megabyte. */
#define MATCH_LIMIT 100000
#define DEPTH_LIMIT 10000
#define HEAP_LIMIT_KIB 8192

#define CACHE_COUNT_MAX 1024
#define CACHE_SLOTS 2048 /* a power of two; half full at most, so probes are short */
#define CACHE_BYTES 262144
#define CACHED_RAW_MAX 1024 /* longer raw values are not kept */

/* A slot is free, or has in `cached`: the raw value, the topic, a NUL. */
struct slot {
	uint32_t hash;
	uint32_t offset;
	uint16_t raw_size;
	uint16_t topic_size; /* 0: the slot is free */
};

struct wp_route {
	pcre2_code *code;		    /* owned */
	pcre2_match_data *match;	    /* owned */
	pcre2_match_context *limits;	    /* owned */
	struct wp_replacement *replacement; /* owned */
	bool has_origin;		    /* it names ${schema} or ${table} */
	char topic[WP_TOPIC_SIZE];	    /* what was made last */
	size_t topic_size;
	size_t cached_count;
	struct wp_buffer cached; /* grows: there may be hundreds of outboxes, with a topic each */
	struct slot slots[CACHE_SLOTS];
	uint8_t key[CACHED_RAW_MAX + 1];
};

static void describe_regex_error(int code, char *text, size_t size)
{
	if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, size) == PCRE2_ERROR_BADDATA)
		text[0] = '\0';
}

static enum wp_rc compile(struct wp_route *r, const char *regex, struct wp_error *error)
{
	int errnum = 0;
	size_t offset = 0;
	char text[128];

	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	if (context == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for outbox.topic.regex");
	/* What . and $ take for the end of a line would depend on how the library was built. */
	(void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF); /* fails on unknown values only */
	/* \C could stop inside of a character. */
	r->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
				PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &errnum, &offset, context);
	pcre2_compile_context_free(context);
	if (r->code != NULL)
		return WP_OK;
	if (errnum == PCRE2_ERROR_HEAP_FAILED)
		return wp_error_set(error, WP_NOMEM, "out of memory for outbox.topic.regex");
	describe_regex_error(errnum, text, sizeof(text));
	return wp_error_set(
		error, WP_CONFIG,
		"outbox.topic.regex = \"%.200s\": %s, at offset %zu; allowed is a regular "
		"expression (PCRE2) that matches the whole raw topic, such as (?<routedByValue>.*)",
		regex, text, offset);
}

static enum wp_rc prepare_match(struct wp_route *r, struct wp_error *error)
{
	r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->limits = pcre2_match_context_create(NULL);
	if (r->match == NULL || r->limits == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for outbox.topic.regex");
	(void)pcre2_set_match_limit(r->limits, MATCH_LIMIT); /* these cannot fail */
	(void)pcre2_set_depth_limit(r->limits, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(r->limits, HEAP_LIMIT_KIB);
	return WP_OK;
}

enum wp_rc wp_route_new(const char *regex, const char *replacement, struct wp_route **ret,
			struct wp_error *error)
{
	struct wp_route *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a cache of topics");

	wp_buffer_init(&r->cached, CACHE_BYTES);
	enum wp_rc rc = compile(r, regex, error);
	if (rc == WP_OK)
		rc = prepare_match(r, error);
	if (rc == WP_OK)
		rc = wp_replacement_new(replacement, r->code, &r->replacement, error);
	if (rc == WP_OK)
		r->has_origin = wp_replacement_has_origin(r->replacement);
	if (rc != WP_OK) {
		wp_route_free(r);
		return rc;
	}
	*ret = r;
	return WP_OK;
}

void wp_route_free(struct wp_route *r)
{
	if (r == NULL)
		return;
	wp_replacement_free(r->replacement);
	pcre2_match_context_free(r->limits);
	pcre2_match_data_free(r->match);
	pcre2_code_free(r->code);
	wp_buffer_release(&r->cached);
	free(r);
}

bool wp_route_has_origin(const struct wp_route *r)
{
	return r->has_origin;
}

/* Returns the slot that holds `raw`, or the free one where it would stand. */
static struct slot *find_cache_slot(struct wp_route *r, struct wp_span raw, uint32_t hash)
{
	for (size_t i = hash;; i++) {
		struct slot *s = &r->slots[i & (CACHE_SLOTS - 1)];
		if (s->topic_size == 0)
			return s;
		if (s->hash == hash && s->raw_size == raw.size &&
		    memcmp(r->cached.data + s->offset, raw.data, raw.size) == 0)
			return s;
	}
}

static enum wp_rc cache_topic(struct wp_route *r, struct wp_span raw, uint32_t hash,
			      struct wp_error *error)
{
	size_t size = raw.size + r->topic_size + 1;

	static_assert(CACHED_RAW_MAX + WP_TOPIC_SIZE <= CACHE_BYTES, "one always fits");
	if (r->cached_count == CACHE_COUNT_MAX || size > CACHE_BYTES - r->cached.size) {
		memset(r->slots, 0, sizeof(r->slots));
		r->cached_count = 0;
		wp_buffer_reset(&r->cached);
	}
	if (wp_buffer_reserve(&r->cached, size) != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for a cache of topics");

	struct slot *s = find_cache_slot(r, raw, hash);
	assert(s->topic_size == 0);
	*s = (struct slot){
		.hash = hash,
		.offset = (uint32_t)r->cached.size,
		.raw_size = (uint16_t)raw.size,
		.topic_size = (uint16_t)r->topic_size,
	};
	memcpy(r->cached.data + s->offset, raw.data, raw.size);
	memcpy(r->cached.data + s->offset + raw.size, r->topic, r->topic_size + 1);
	r->cached.size += size;
	r->cached_count++;
	return WP_OK;
}

static enum wp_rc say_gave_up(int errnum, struct wp_span raw, struct wp_error *error)
{
	struct wp_excerpt shown;
	char text[128];

	if (errnum == PCRE2_ERROR_NOMEMORY)
		return wp_error_set(error, WP_NOMEM, "out of memory to match outbox.topic.regex");
	describe_regex_error(errnum, text, sizeof(text));
	if (errnum <= PCRE2_ERROR_UTF8_ERR1 && errnum >= PCRE2_ERROR_UTF8_ERR21)
		return wp_error_set(error, WP_DATA,
				    "the raw topic \"%s\" is not UTF-8 (%s): correct the row's "
				    "outbox.route.by column",
				    wp_excerpt(&shown, raw), text);
	return wp_error_set(error, WP_DATA,
			    "matching outbox.topic.regex to the raw topic \"%s\" exceeded its "
			    "limits (%s): simplify the expression",
			    wp_excerpt(&shown, raw), text);
}

/* Appends behind the end of the topic. WP_FULL: it is longer than a topic may be, and was cut. */
static enum wp_rc append_to_topic(struct wp_route *r, const uint8_t *bytes, size_t size)
{
	size_t room = WP_TOPIC_SIZE - 1 - r->topic_size;
	size_t taken = size < room ? size : room;

	memcpy(r->topic + r->topic_size, bytes, taken);
	r->topic_size += taken;
	return taken < size ? WP_FULL : WP_OK;
}

static enum wp_rc replace_match(struct wp_route *r, struct wp_span raw,
				const struct wp_origin *origin)
{
	const size_t *ovector = pcre2_get_ovector_pointer(r->match);
	size_t start = ovector[0];
	size_t end = ovector[1];
	size_t size = 0;

	/* \K moves the start. */
	enum wp_rc rc = append_to_topic(r, raw.data, start);
	if (rc == WP_OK)
		rc = wp_replacement_expand(r->replacement, raw, ovector, origin,
					   r->topic + r->topic_size,
					   WP_TOPIC_SIZE - 1 - r->topic_size, &size);
	r->topic_size += size;
	if (rc != WP_OK)
		return rc;
	return append_to_topic(r, raw.data + end, raw.size - end);
}

/*
 * Does the whole raw topic match? Then the ovector is that of the first match. Most
 * often that is the whole, and one run answers both.
 */
static int match_regex(struct wp_route *r, struct wp_span raw)
{
	int rc = pcre2_match(r->code, raw.data, raw.size, 0, PCRE2_ANCHORED, r->match, r->limits);
	if (rc < 0 || pcre2_get_ovector_pointer(r->match)[1] == raw.size)
		return rc;

	rc = pcre2_match(r->code, raw.data, raw.size, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED,
			 r->match, r->limits);
	if (rc < 0)
		return rc;
	return pcre2_match(r->code, raw.data, raw.size, 0, PCRE2_ANCHORED, r->match, r->limits);
}

bool wp_topic_is_fixed(const char *replacement)
{
	return strpbrk(replacement, "$\\") == NULL;
}

/*
 * These are Topic.INTERNAL_TOPICS of Kafka, and its metadata log. Kafka answers a write with
 * INVALID_TOPIC_EXCEPTION (ReplicaManager: "Cannot append to internal topic"), as it answers much
 * else.
 */
static bool is_internal(const char *topic)
{
	static const char *const names[] = {
		"__consumer_offsets",
		"__transaction_state",
		"__share_group_state",
		"__cluster_metadata",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(topic, names[i]) == 0)
			return true;
	return false;
}

const char *wp_topic_name_trouble(const char *topic)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	if (topic[0] == '\0')
		return "is empty";
	if (topic[strspn(topic, allowed)] != '\0')
		return "contains characters other than a-z A-Z 0-9 . _ -";
	if (strlen(topic) >= WP_TOPIC_SIZE)
		return "is longer than 249 bytes";
	if (strcmp(topic, ".") == 0 || strcmp(topic, "..") == 0)
		return "is a name that Kafka does not allow";
	if (is_internal(topic))
		return "is internal to Kafka, which refuses writes by clients "
		       "(INVALID_TOPIC_EXCEPTION)";
	return NULL;
}

static enum wp_rc check_made_topic(struct wp_route *r, enum wp_rc made, struct wp_span raw,
				   struct wp_error *error)
{
	struct wp_excerpt shown_topic;
	struct wp_excerpt shown_raw;
	const char *wrong = NULL;

	r->topic[r->topic_size] = '\0';
	if (made == WP_FULL)
		wrong = "is longer than 249 bytes";
	else if (memchr(r->topic, '\0', r->topic_size) != NULL)
		wrong = "contains characters other than a-z A-Z 0-9 . _ -";
	else
		wrong = wp_topic_name_trouble(r->topic);
	if (wrong == NULL)
		return WP_OK;
	return wp_error_set(
		error, WP_DATA,
		"the topic \"%s\", derived from the raw topic \"%s\", %s: correct the row's "
		"outbox.route.by column, or outbox.topic.regex and outbox.topic.replacement",
		wp_excerpt(&shown_topic,
			   (struct wp_span){ (const uint8_t *)r->topic, r->topic_size }),
		wp_excerpt(&shown_raw, raw), wrong);
}

static enum wp_rc make_topic(struct wp_route *r, struct wp_span raw, const struct wp_origin *origin,
			     struct wp_error *error)
{
	enum wp_rc made;

	r->topic_size = 0;
	int rc = match_regex(r, raw);
	if (rc == PCRE2_ERROR_NOMATCH)
		made = append_to_topic(r, raw.data, raw.size);
	else if (rc < 0)
		return say_gave_up(rc, raw, error);
	else
		made = replace_match(r, raw, origin);
	return check_made_topic(r, made, raw, error);
}

/* A topic is remembered by this: the raw one, and what else it is made of. Null: it is too long. */
static struct wp_span cache_key(struct wp_route *r, struct wp_span raw,
				const struct wp_origin *origin)
{
	const struct wp_span parts[] = { raw, origin->schema, origin->table };
	size_t size = 0;

	if (raw.size + (r->has_origin ? origin->schema.size + origin->table.size + 2 : 0) >
	    CACHED_RAW_MAX)
		return (struct wp_span){ 0 };
	if (!r->has_origin)
		return raw;
	for (size_t i = 0; i < 3; i++) {
		if (parts[i].size > 0)
			memcpy(r->key + size, parts[i].data, parts[i].size);
		size += parts[i].size;
		r->key[size++] = '\0';
	}
	return (struct wp_span){ .data = r->key, .size = size - 1 };
}

enum wp_rc wp_route_topic(struct wp_route *r, struct wp_span raw, const struct wp_origin *origin,
			  struct wp_span *ret, struct wp_error *error)
{
	static const struct wp_origin none;

	assert(!wp_span_is_null(raw));
	if (origin == NULL)
		origin = &none;
	struct wp_span key = cache_key(r, raw, origin);
	bool is_kept = !wp_span_is_null(key);
	uint32_t hash = is_kept ? (uint32_t)wp_hash(WP_HASH_BEGIN, key) : 0;
	const struct slot *s = is_kept ? find_cache_slot(r, key, hash) : NULL;
	if (s != NULL && s->topic_size > 0) {
		ret->data = r->cached.data + s->offset + s->raw_size;
		ret->size = s->topic_size;
		return WP_OK;
	}

	enum wp_rc rc = make_topic(r, raw, origin, error);
	if (rc == WP_OK && is_kept)
		rc = cache_topic(r, key, hash, error);
	if (rc != WP_OK)
		return rc;
	*ret = (struct wp_span){ .data = (const uint8_t *)r->topic, .size = r->topic_size };
	return WP_OK;
}
