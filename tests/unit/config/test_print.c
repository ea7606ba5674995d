#include <stdlib.h>
#include <string.h>

#include "walpost/base/file_text.h"
#include "walpost/config/option.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"

#include "fixture.h"
#include "support/check.h"

static void the_sample_is_the_deployed_file(void **state)
{
	char *sample = printed(wp_config_sample);
	char *deployed = NULL;
	struct wp_error error;

	CHECK_EQ(wp_file_text(WALPOST_CONF, &deployed, &error), WP_OK);
	CHECK_TEXT(sample, deployed);
	free(deployed);
	free(sample);
}

static void the_sample_is_a_right_configuration(void **state)
{
	char *sample = printed(wp_config_sample);

	check_file(sample);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.count, 0);
	free(sample);
}

/* Lines behind a ; become settings, the examples of [kafka] too. */
static void uncomment(char *text)
{
	char *to = text;

	for (char *at = text; *at != '\0'; at++)
		if (*at != ';' || (at > text && at[-1] != '\n'))
			*to++ = *at;
	*to = '\0';
}

static void the_sample_uncommented_says_each_default(void **state)
{
	const struct wp_config_sources nothing = { .file = NULL };
	char *sample = printed(wp_config_sample);
	struct fixture bare;

	uncomment(sample);
	check_file(sample);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(wp_config_load(&nothing, &bare.config, &bare.notes), WP_OK);
	for (size_t i = 0; i < wp_option_count; i++) {
		CHECK(got.config.storage->values[i].set);
		if ((wp_options[i].flags & WP_OPTION_REQUIRED) == 0)
			CHECK_TEXT(got.config.storage->values[i].text,
				   bare.config.storage->values[i].text);
	}
	wp_config_release(&bare.config);
	free(sample);
}

static void no_line_of_the_sample_is_wide(void **state)
{
	char *sample = printed(wp_config_sample);

	for (const char *at = sample; *at != '\0'; at += strcspn(at, "\n") + 1)
		CHECK(strcspn(at, "\n") <= 110);
	free(sample);
}

static void the_reference_has_each_option_whole(void **state)
{
	char *reference = printed(wp_config_reference);
	char part[2 * WP_OPTION_TEXT_SIZE];
	char text[WP_OPTION_TEXT_SIZE];

	for (size_t i = 0; i < wp_option_count; i++) {
		(void)snprintf(part, sizeof(part), "\n### `%s`\n", wp_options[i].key);
		CHECK_HAS(reference, part);
		CHECK_HAS(reference, wp_options[i].help);
		CHECK_HAS(reference, wp_option_variable(&wp_options[i], text));
		CHECK_HAS(reference, wp_option_allowed(&wp_options[i], text));
	}
	for (size_t s = 0; wp_option_section(s) != NULL; s++) {
		(void)snprintf(part, sizeof(part), "\n## [%s]\n", wp_option_section(s));
		CHECK_HAS(reference, part);
	}
	free(reference);
}

static void what_is_shown_names_each_key_with_value_and_place(void **state)
{
	char *text;

	load_set("relay.in_flight.bytes=64 MiB");
	text = shown();
	CHECK_HAS(text, "relay.in_flight.bytes = 64 MiB    (--set)\n");
	CHECK_HAS(text, "postgres.slot = walpost    (default)\n");
	for (size_t i = 0; i < wp_option_count; i++)
		CHECK_HAS(text, wp_options[i].key);
	free(text);
}

static void secrets_are_never_shown(void **state)
{
	char *text;

	load_file("[postgres]\n"
		  "conninfo = postgresql://u:hush@db/app?sslpassword=hush\n"
		  "password = hush\n"
		  "[kafka]\n"
		  "sasl.password = hush\n"
		  "SSL.Key.Password = hush\n"
		  "ssl.key.location = /keys/k\n"
		  "sasl.username = relay\n");
	CHECK_EQ(got.rc, WP_OK);
	text = shown();
	assert_null(strstr(text, "hush"));
	CHECK_HAS(text, "postgres.conninfo = user=u password=******** dbname=app host=db "
			"sslpassword=********");
	CHECK_HAS(text, "postgres.password = ********");
	CHECK_HAS(text, "kafka.sasl.password = ********");
	CHECK_HAS(text, "kafka.SSL.Key.Password = ********");
	CHECK_HAS(text, "kafka.ssl.key.location = /keys/k");
	CHECK_HAS(text, "kafka.sasl.username = relay");
	free(text);
}

static void a_property_that_librdkafka_has_not_seen_shows_no_value(void **state)
{
	char *text;

	load_file("[relay]\nsink = stdout\n[kafka]\nsasl.pasword = hush\n");
	CHECK_EQ(got.rc, WP_OK);
	text = shown();
	CHECK_HAS(text, "kafka.sasl.pasword = ********");
	free(text);
}

static void secrets_are_not_repeated_in_errors(void **state)
{
	load_file("[postgres]\n"
		  "passwrod = hush\n"
		  "coninfo = host=db password=hush\n"
		  "url = postgresql://u:hush@db/app\n"
		  "password = hush\n"
		  "password = hush\n");
	CHECK_EQ(got.rc, WP_CONFIG);
	CHECK_EQ(got.notes.error_count, 4);
	for (size_t i = 0; i < got.notes.count; i++)
		assert_null(strstr(got.notes.notes[i].error.text, "hush"));
	load_file("[postgres]\nconninfo = password=hu\nsh and more\n");
	CHECK_EQ(got.rc, WP_CONFIG);
	assert_null(strstr(got.notes.notes[0].error.text, "more"));
}

static void an_empty_secret_is_shown_as_empty(void **state)
{
	char *text;

	load_set("relay.sink=stdout");
	text = shown();
	CHECK_HAS(text, "postgres.password =     (default)\n");
	free(text);
}

static void control_characters_are_shown_as_numbers(void **state)
{
	char *text;

	load_set("outbox.headers.source=\x1b[2J\n");
	text = shown();
	CHECK_HAS(text, "outbox.headers.source = \\x1b[2J\\x0a    (--set)\n");
	free(text);
}

static void what_was_half_read_is_not_shown(void **state)
{
	char *text;

	load_file("[postgres]\nslot = s\nnonsense\n");
	text = shown();
	CHECK_TEXT(text, "");
	free(text);
}

static void a_value_cut_for_a_message_ends_with_a_whole_character(void **state)
{
	char value[400];
	char text[WP_SHOWN_SIZE];

	for (size_t shift = 0; shift < 3; shift++) {
		memset(value, 'x', shift);
		for (size_t i = shift; i + 3 < sizeof(value); i += 3)
			memcpy(value + i, "\xe2\x82\xac", 4);
		(void)wp_value_shown("outbox.headers", value, text);
		CHECK(strlen(text) < WP_SHOWN_SIZE);
		CHECK(strlen(text) > WP_SHOWN_SIZE - 10);
		CHECK_EQ((strlen(text) - shift - 3) % 3, 0);
		CHECK_TEXT(text + strlen(text) - 6, "\xe2\x82\xac...");
	}
}

int main(void)
{
	return RUN(
		CLEAN(the_sample_is_the_deployed_file), CLEAN(the_sample_is_a_right_configuration),
		CLEAN(the_sample_uncommented_says_each_default),
		CLEAN(no_line_of_the_sample_is_wide), CLEAN(the_reference_has_each_option_whole),
		CLEAN(what_is_shown_names_each_key_with_value_and_place),
		CLEAN(secrets_are_never_shown),
		CLEAN(a_property_that_librdkafka_has_not_seen_shows_no_value),
		CLEAN(secrets_are_not_repeated_in_errors), CLEAN(an_empty_secret_is_shown_as_empty),
		CLEAN(control_characters_are_shown_as_numbers),
		CLEAN(what_was_half_read_is_not_shown),
		CLEAN(a_value_cut_for_a_message_ends_with_a_whole_character));
}
