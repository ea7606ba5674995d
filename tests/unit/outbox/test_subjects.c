/* What is known of the subjects of a schema registry, and when it is asked again. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "walpost/outbox/subjects.h"

static struct wp_subjects subjects;
static struct wp_registry_options options;
static struct wp_error error;
static struct wp_subject *asked; /* last */
static int asked_count;
static enum wp_rc answers_at_once; /* WP_AGAIN: it does not */

static const struct wp_schema seven = { .id = 7, .version = 1, .kind = WP_SCHEMA_AVRO };
static const struct wp_schema eight = { .id = 8, .version = 2, .kind = WP_SCHEMA_AVRO };

static enum wp_rc ask(void *arg, struct wp_subject *subject, const struct wp_registry_options *o)
{
	struct wp_error why;

	CHECK(o == &options);
	asked = subject;
	asked_count++;
	if (answers_at_once == WP_NOMEM)
		return WP_NOMEM;
	if (answers_at_once != WP_AGAIN)
		(void)wp_subjects_fail(&subjects, subject, answers_at_once,
				       (wp_error_set(&why, answers_at_once, "no"), &why));
	return WP_AGAIN;
}

static int set_up(void **state)
{
	options = (struct wp_registry_options){ .url = "http://a", .refresh_ms = 1000 };
	wp_subjects_init(&subjects, WP_SUBJECTS_WAIT, ask, NULL);
	asked = NULL;
	asked_count = 0;
	answers_at_once = WP_AGAIN;
	return 0;
}

static int tear_down(void **state)
{
	wp_subjects_release(&subjects);
	return 0;
}

static enum wp_rc find(const char *name, uint32_t version, const struct wp_subject **ret)
{
	return wp_subjects_find(&subjects, &options, wp_span_of(name), version, ret, &error);
}

static void knows(const char *name, uint32_t version, uint32_t id)
{
	const struct wp_subject *found = NULL;

	CHECK_EQ(find(name, version, &found), WP_OK);
	CHECK_EQ(found->schema.id, id);
}

static void waits_for(const char *name, uint32_t version)
{
	const struct wp_subject *found = NULL;

	CHECK_EQ(find(name, version, &found), WP_AGAIN);
	CHECK(found != NULL && !found->is_known);
}

static void fails(struct wp_subject *subject, enum wp_rc rc)
{
	struct wp_error why;

	(void)wp_error_set(&why, rc, "down");
	(void)wp_subjects_fail(&subjects, subject, rc, &why);
}

static void a_subject_is_asked_for_once_and_then_known(void **state)
{
	waits_for("s", 0);
	waits_for("s", 0);
	CHECK_EQ(asked_count, 1);
	CHECK_TEXT(asked->name, "s");
	CHECK_TEXT(asked->url, "http://a");
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	knows("s", 0, 7);
	CHECK_EQ(asked_count, 1);
	CHECK_EQ(subjects.known, 1);
}

static void another_version_or_registry_is_another_subject(void **state)
{
	waits_for("s", 0);
	wp_subjects_answer(&subjects, asked, &eight, 1000);
	waits_for("s", 1);
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	options.url = "http://b";
	waits_for("s", 0);
	options.url = "http://a";
	knows("s", 0, 8);
	knows("s", 1, 7);
	CHECK_EQ(subjects.count, 3);
}

static void the_latest_is_asked_for_again_a_pinned_one_never(void **state)
{
	waits_for("latest", 0);
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	waits_for("pinned", 3);
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	subjects.now_ms = 999;
	knows("latest", 0, 7);
	CHECK_EQ(asked_count, 2);
	subjects.now_ms = 1000;
	knows("latest", 0, 7); /* it serves on meanwhile */
	knows("latest", 0, 7);
	CHECK_EQ(asked_count, 3);
	wp_subjects_answer(&subjects, asked, &eight, 1000);
	knows("latest", 0, 8);
	subjects.now_ms = INT64_MAX - 1;
	knows("pinned", 3, 7);
	CHECK_EQ(asked_count, 3);
}

static void what_is_known_outlasts_every_failure(void **state)
{
	waits_for("s", 0);
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	for (int i = 0; i < 40; i++) {
		subjects.now_ms += 60000;
		knows("s", 0, 7);
		CHECK_EQ(asked_count, 2 + i);
		fails(asked, i % 2 == 0 ? WP_IO : WP_CONFIG);
		knows("s", 0, 7);
		CHECK(asked->trouble == NULL);
	}
}

static void a_failed_question_is_asked_again_ever_later(void **state)
{
	static const int64_t waits_s[] = { 1, 2, 4, 8, 16, 30, 30 };

	waits_for("s", 0);
	for (size_t i = 0; i < sizeof(waits_s) / sizeof(waits_s[0]); i++) {
		fails(asked, WP_IO);
		CHECK(!asked->is_refused);
		subjects.now_ms += waits_s[i] * 1000 - 1;
		waits_for("s", 0);
		CHECK_TEXT(error.text, "down");
		CHECK_EQ(asked_count, 1 + (int)i);
		subjects.now_ms++;
		waits_for("s", 0);
		CHECK_EQ(asked_count, 2 + (int)i);
	}
	fails(asked, WP_CONFIG);
	CHECK(asked->is_refused);
}

static void the_first_of_several_failures_is_told(void **state)
{
	struct wp_error why;

	(void)wp_error_set(&why, WP_IO, "down");
	waits_for("s", 0);
	CHECK(wp_subjects_fail(&subjects, asked, WP_IO, &why));
	CHECK(!wp_subjects_fail(&subjects, asked, WP_IO, &why));
	wp_subjects_answer(&subjects, asked, &seven, 1);
	CHECK(wp_subjects_fail(&subjects, asked, WP_IO, &why));
}

static void who_does_not_wait_gets_the_failure(void **state)
{
	const struct wp_subject *found;

	subjects.patience = WP_SUBJECTS_FAIL;
	answers_at_once = WP_CONFIG;
	CHECK_EQ(find("s", 0, &found), WP_CONFIG);
	CHECK_TEXT(error.text, "no");
	answers_at_once = WP_IO;
	CHECK_EQ(find("t", 0, &found), WP_IO);
}

static void ten_thousand_subjects_and_a_bound(void **state)
{
	const struct wp_subject *found;
	char name[32];

	for (int i = 0; i < WP_SUBJECTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "subject%d", i);
		waits_for(name, 0);
		wp_subjects_answer(&subjects, asked,
				   &(struct wp_schema){ .id = (uint32_t)i, .version = 1 }, 1000);
	}
	knows("subject0", 0, 0);
	knows("subject9999", 0, 9999);
	knows("subject99999", 0, 99999);
	CHECK_EQ(find("one more", 0, &found), WP_CONFIG);
	CHECK_HAS(error.text, "subject one more is one more than the 100000 that are kept");
	knows("subject5", 0, 5);
}

static void without_memory_nothing_is_lost(void **state)
{
	const struct wp_subject *found;

	for (size_t n = 0; n < 2; n++) {
		memory_fails_after(n);
		CHECK_EQ(find("s", 0, &found), WP_NOMEM);
		wp_subjects_release(&subjects);
		wp_subjects_init(&subjects, WP_SUBJECTS_WAIT, ask, NULL);
	}
	memory_works();
	answers_at_once = WP_NOMEM;
	CHECK_EQ(find("s", 0, &found), WP_NOMEM);
	answers_at_once = WP_AGAIN;
	waits_for("s", 0);
	wp_subjects_answer(&subjects, asked, &seven, 1000);
	subjects.now_ms = 1000;
	answers_at_once = WP_NOMEM;
	knows("s", 0, 7);
}

int main(void)
{
	return RUN(TEST(a_subject_is_asked_for_once_and_then_known),
		   TEST(another_version_or_registry_is_another_subject),
		   TEST(the_latest_is_asked_for_again_a_pinned_one_never),
		   TEST(what_is_known_outlasts_every_failure),
		   TEST(a_failed_question_is_asked_again_ever_later),
		   TEST(the_first_of_several_failures_is_told),
		   TEST(who_does_not_wait_gets_the_failure),
		   TEST(ten_thousand_subjects_and_a_bound), TEST(without_memory_nothing_is_lost));
}
