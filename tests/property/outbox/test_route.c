/* A route whose cache is emptied many times against one without a cache. Seeded. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/backoff.h"
#include "walpost/outbox/route.h"

#define ROUNDS 100000

static uint64_t seed = 815;

static size_t random_below(size_t bound)
{
	return (size_t)(wp_random_next(&seed) % bound);
}

static struct wp_route *route_of(const char *regex, const char *replacement)
{
	struct wp_route *r = NULL;

	CHECK_EQ(wp_route_new(regex, replacement, &r, NULL), WP_OK);
	return r;
}

/* "left-right" becomes "right.left", all else stays; "" when that is no topic. */
static const char *model(const char *raw, char topic[64])
{
	const char *dash = strchr(raw, '-');
	bool swaps =
		dash != NULL && dash != raw && dash[1] != '\0' && strchr(dash + 1, '-') == NULL;

	if (strchr(raw, '/') != NULL || raw[0] == '\0')
		return "";
	if (swaps)
		(void)snprintf(topic, 64, "%s.%.*s", dash + 1, (int)(dash - raw), raw);
	else
		(void)snprintf(topic, 64, "%s", raw);
	return topic;
}

static void the_cache_never_changes_the_answer(void **state)
{
	struct wp_route *r = route_of("(?<left>\\w+)-(?<right>\\w+)", "${right}.$1");
	int refused = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char raw[16] = "";
		char topic[64];
		struct wp_span got;
		/* Two thousand values, some of them far more often than others. */
		size_t bound = random_below(10) == 0 ? 2000 : 50;
		size_t value = random_below(bound);
		(void)snprintf(raw, sizeof(raw), "%zx%s%zo", value, value % 3 == 0 ? "-" : "",
			       value * 7);
		if (value % 101 == 0)
			raw[value % 4] = '/';
		if (value % 103 == 0)
			raw[0] = '-';
		const char *wanted = model(raw, topic);
		enum wp_rc rc = wp_route_topic(r, wp_span_of(raw), NULL, &got, NULL);
		CHECK_EQ(rc, wanted[0] == '\0' ? WP_DATA : WP_OK);
		if (rc == WP_OK)
			CHECK_SPAN(got, wanted);
		refused += rc != WP_OK;
	}
	CHECK(refused > 0);
	wp_route_free(r);
}

static void any_bytes_give_a_valid_topic_or_none(void **state)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	struct wp_route *r = route_of("(?s)(?:(a+)|(b*?)|.)*", "$1.${2}_\\x");

	for (int i = 0; i < ROUNDS / 4; i++) {
		uint8_t raw[20];
		size_t size = random_below(sizeof(raw));
		for (size_t b = 0; b < size; b++)
			raw[b] = random_below(20) == 0 ? (uint8_t)random_below(256)
						       : (uint8_t)('a' + random_below(3));
		struct wp_span got;
		enum wp_rc rc = wp_route_topic(r, (struct wp_span){ .data = raw, .size = size },
					       NULL, &got, NULL);
		CHECK(rc == WP_OK || rc == WP_DATA);
		if (rc == WP_OK) {
			CHECK(got.size >= 1 && got.size <= 249);
			CHECK_EQ(strspn((const char *)got.data, allowed), got.size);
		}
	}
	wp_route_free(r);
}

static void a_garbled_replacement_is_taken_or_refused(void **state)
{
	static const char alphabet[] = "a$\\{}129n";
	int taken = 0;

	for (int i = 0; i < ROUNDS / 10; i++) {
		char text[10];
		struct wp_route *r = NULL;
		struct wp_span got;
		size_t size = random_below(sizeof(text));
		for (size_t b = 0; b < size; b++)
			text[b] = alphabet[random_below(sizeof(alphabet) - 1)];
		text[size] = '\0';
		enum wp_rc rc = wp_route_new("(?<n>.)(.)", text, &r, NULL);
		CHECK(rc == WP_OK || rc == WP_CONFIG);
		if (rc != WP_OK)
			continue;
		taken++;
		rc = wp_route_topic(r, wp_span_of("xy"), NULL, &got, NULL);
		CHECK(rc == WP_OK || rc == WP_DATA);
		wp_route_free(r);
	}
	CHECK(taken > 100);
}

int main(void)
{
	return RUN(PLAIN(the_cache_never_changes_the_answer),
		   PLAIN(any_bytes_give_a_valid_topic_or_none),
		   PLAIN(a_garbled_replacement_is_taken_or_refused));
}
