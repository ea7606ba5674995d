#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "walpost/base/file_text.h"
#include "walpost/config/setting.h"

#include "fixture.h"
#include "support/check.h"

static void values_come_with_their_place(void **state)
{
	load_file("# head\n\n[postgres]\nslot = orders\n; mid\npublication=p\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.count, 0);
	CHECK_TEXT(got.config.postgres.slot, "orders");
	CHECK_TEXT(got.config.postgres.publication, "p");
	CHECK_HAS(wp_config_where(&got.config, "postgres.slot"), ":4");
	CHECK_HAS(wp_config_where(&got.config, "postgres.publication"), ":6");
	CHECK_TEXT(wp_config_where(&got.config, "postgres.conninfo"), "default");
}

static void a_value_is_kept_as_it_stands(void **state)
{
	static const struct {
		const char *line;
		const char *value;
	} lines[] = {
		{ "password = a;b", "a;b" },
		{ "password = a ;b #c", "a ;b #c" },
		{ "password = #hash", "#hash" },
		{ "password = ;semi", ";semi" },
		{ "password = a=b==", "a=b==" },
		{ "password = \"quoted\"", "\"quoted\"" },
		{ "password = 'it''s'", "'it''s'" },
		{ "password = back\\slash\\n", "back\\slash\\n" },
		{ "password = $HOME %s ${x}", "$HOME %s ${x}" },
		{ "password = [x]", "[x]" },
		{ "password = \xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x98",
		  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x98" },
		{ "password =  \t spaces  inside \t ", "spaces  inside" },
		{ "password=tight", "tight" },
		{ "password =", "" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		(void)snprintf(text, sizeof(text), "[postgres]\n%s\n", lines[i].line);
		load_file(text);
		CHECK_EQ(got.rc, WP_OK);
		CHECK_TEXT(got.config.postgres.password, lines[i].value);
	}
}

static void a_value_may_be_longer_than_any_buffer(void **state)
{
	static const char head[] = "[postgres]\npassword = ";
	char *text = calloc(1, sizeof(head) + 65536);

	assert_non_null(text);
	memcpy(text, head, sizeof(head));
	memset(text + strlen(head), 'x', 65535);
	load_file(text);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(strlen(got.config.postgres.password), 65535);
	free(text);
}

static void kafka_properties_pass_as_they_are(void **state)
{
	load_file("[kafka]\nbootstrap.servers = a:1,b:2\nsasl.password = \"x ; y\"\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.kafka.property_count, 2);
	CHECK_TEXT(got.config.kafka.properties[0].name, "bootstrap.servers");
	CHECK_TEXT(got.config.kafka.properties[0].value, "a:1,b:2");
	CHECK_HAS(got.config.kafka.properties[0].where, ":2");
	CHECK_TEXT(got.config.kafka.properties[1].value, "\"x ; y\"");
}

static void a_section_may_come_in_parts(void **state)
{
	load_file("[postgres]\nslot = s\n[log]\nlevel = warn\n[postgres]\npublication = p\n");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.postgres.slot, "s");
	CHECK_TEXT(got.config.postgres.publication, "p");
	CHECK_HAS(wp_config_where(&got.config, "postgres.publication"), ":6");
}

static void the_forms_that_editors_leave_are_read(void **state)
{
	static const char *const texts[] = {
		"[postgres]\r\nslot = s\r\n",
		"\xef\xbb\xbf[postgres]\nslot = s\n",
		"[postgres]\nslot = s",
		"[ postgres ]  \n\n   \n\t\nslot\t=\ts\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		load_file(texts[i]);
		CHECK_EQ(got.rc, WP_OK);
		CHECK_TEXT(got.config.postgres.slot, "s");
	}
}

static void an_empty_file_gives_the_defaults(void **state)
{
	static const char *const texts[] = { "", "\n", "# nothing\n", "[postgres]\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		load_file(texts[i]);
		CHECK_EQ(got.rc, WP_OK);
		CHECK_TEXT(got.config.postgres.slot, "walpost");
	}
}

static void wrong(const char *text, const char *said)
{
	load_file(text);
	one_error(said);
}

static void a_key_set_twice_names_both_lines(void **state)
{
	wrong("[postgres]\nslot = a\n\nslot = b\n", ":4: postgres.slot is already set in line 2");
	wrong("[postgres]\nslot = a\n[postgres]\nslot = b\n",
	      ":4: postgres.slot is already set in line 2");
	wrong("[kafka]\nacks = all\nx = 1\nacks = all\n",
	      ":4: kafka.acks is already set in line 2");
	wrong("[kafka]\nacks = all\nACKS = all\n", ":3: kafka.ACKS is already set in line 2");
}

static void each_further_repetition_names_the_first(void **state)
{
	load_file("[postgres]\nslot = a\nslot = b\npublication = p\nslot = c\n");
	CHECK_EQ(got.notes.error_count, 2);
	CHECK_HAS(got.notes.notes[0].error.text, ":3: postgres.slot is already set in line 2");
	CHECK_HAS(got.notes.notes[1].error.text, ":5: postgres.slot is already set in line 2");
}

static void an_unknown_key_is_an_error_with_the_nearest(void **state)
{
	wrong("[postgres]\nslott = a\n",
	      ":2: postgres.slott: there is no such key; did you mean postgres.slot?");
	wrong("[postgres]\nSlot = a\n", "did you mean postgres.slot?");
	wrong("[relay]\nzzz.qqq = a\n",
	      ":2: relay.zzz.qqq: there is no such key; `walpost config reference`");
}

static void an_unknown_section_is_an_error_with_the_nearest(void **state)
{
	wrong("[postgre]\n", ":1: [postgre]: there is no such section; did you mean [postgres]?");
	wrong("\n[Kafka]\n", ":2: [Kafka]: there is no such section; did you mean [kafka]?");
	wrong("[somewhere]\n",
	      ":1: [somewhere]: there is no such section; there are [postgres], [outbox], [kafka], "
	      "[relay], [park], [cleanup], [http], [log]");
	wrong("[]\n", ":1: []: there is no such section");
}

static void a_key_before_the_first_section_is_an_error(void **state)
{
	wrong("slot = s\n[postgres]\n", ":1: slot appears before the first [section]");
}

static void a_line_that_is_nothing_is_an_error(void **state)
{
	wrong("[postgres]\nslot\n", ":2: neither `key = value` nor [section] nor # comment");
	wrong("[postgres]\n= s\n", ":2: there is no key before the =");
	wrong("[postgres\n", ":1: a section is written [name]");
	wrong("[postgres] # main\n", ":1: a section is written [name], with nothing after it");
	wrong("[postgres]\ns lot = x\n", ":2: a key consists of letters");
	wrong("[postgres]\nsl\xc3\xb6t = x\n", ":2: a key consists of letters");
}

static void a_continued_line_is_an_error(void **state)
{
	wrong("[outbox]\nheaders = a,\n  b\n", ":3: a line must not begin with a space");
	wrong("[outbox]\nheaders = a,\n\tb\n", ":3: a line must not begin with a space");
	wrong("[outbox]\n # comment\n", ":2: a line must not begin with a space");
}

static void what_is_not_utf8_is_an_error(void **state)
{
	static const char *const wrongs[] = { "\xff",
					      "\xc3",
					      "\xc0\x80",
					      "\xe2\x82",
					      "\xed\xa0\x80",
					      "\xe0\x80\x80",
					      "\xf0\x80\x80\x80",
					      "\xf4\x90\x80\x80",
					      "\xf5\x80\x80\x80" };
	char text[64];

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		(void)snprintf(text, sizeof(text), "[postgres]\nslot = %s\n", wrongs[i]);
		wrong(text, ":2: not UTF-8");
	}
}

static void a_bad_value_names_place_key_value_and_what_is_allowed(void **state)
{
	wrong("[relay]\nin_flight.events = 0\n",
	      ":2: relay.in_flight.events = 0: it must be a number from 1 to 1048576");
	wrong("[relay]\nsink = kafak\n", ":2: relay.sink = kafak: it must be kafka or stdout");
}

static void a_long_or_strange_value_is_cut_and_cleaned_in_the_message(void **state)
{
	char text[1024] = "[relay]\nsink = \x1b[31m";
	size_t size = strlen(text);

	memset(text + size, 'x', 600);
	load_file(text);
	one_error("relay.sink = \\x1b[31mxxx");
	CHECK_HAS(got.notes.notes[0].error.text, "xxx...: it must be");
	CHECK(strlen(got.notes.notes[0].error.text) < 400);
}

static void all_that_is_wrong_is_told_at_once(void **state)
{
	load_file("[relay]\nsink = x\nepoch = y\n[log]\nlevel = z\n");
	CHECK_EQ(got.notes.error_count, 3);
	CHECK_EQ(got.notes.count, 3);
}

static void more_errors_than_fit_are_counted(void **state)
{
	char text[2048] = "[postgres]\n";

	for (int i = 0; i < WP_CONFIG_NOTES_MAX + 3; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "nothing\n");
	load_file(text);
	CHECK_EQ(got.rc, WP_CONFIG);
	CHECK_EQ(got.notes.count, WP_CONFIG_NOTES_MAX);
	CHECK_EQ(got.notes.error_count, WP_CONFIG_NOTES_MAX + 3);
	CHECK_EQ(got.notes.left_off, 3);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
	const struct wp_config_sources sources = { .file = "/nonexistent/walpost.conf" };

	got.rc = wp_config_load(&sources, &got.config, &got.notes);
	one_error("/nonexistent/walpost.conf cannot be read: No such file");
}

static void a_folder_is_not_a_file(void **state)
{
	const struct wp_config_sources sources = { .file = "/tmp" };

	got.rc = wp_config_load(&sources, &got.config, &got.notes);
	one_error("/tmp cannot be read: Is a directory");
}

static void a_nul_byte_is_an_error(void **state)
{
	static const char text[] = "[postgres]\nslot = a\0b\n";

	load_bytes(text, sizeof(text) - 1);
	one_error("NUL");
}

static void a_file_may_be_one_mebibyte_and_no_more(void **state)
{
	char *text = malloc(WP_FILE_TEXT_SIZE_MAX + 1);

	assert_non_null(text);
	memset(text, '#', WP_FILE_TEXT_SIZE_MAX + 1);
	for (size_t i = 99; i < WP_FILE_TEXT_SIZE_MAX; i += 100)
		text[i] = '\n';
	load_bytes(text, WP_FILE_TEXT_SIZE_MAX);
	CHECK_EQ(got.rc, WP_OK);
	load_bytes(text, WP_FILE_TEXT_SIZE_MAX + 1);
	one_error("larger than 1 MiB");
	free(text);
}

static void a_pipe_is_read_to_its_end(void **state)
{
	static const char text[] = "[postgres]\nslot = s\n";
	int ends[2];
	char path[64];
	const struct wp_config_sources sources = { .file = path };

	CHECK_EQ(pipe(ends), 0);
	CHECK(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
	CHECK_EQ(close(ends[1]), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	got.rc = wp_config_load(&sources, &got.config, &got.notes);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.postgres.slot, "s");
	CHECK_EQ(close(ends[0]), 0);
}

static void properties_are_taken_up_to_the_limit(void **state)
{
	char *text = calloc(1, 16 * 1024);

	assert_non_null(text);
	(void)snprintf(text, 16, "[kafka]\n");
	for (int i = 0; i < WP_PROPERTIES_MAX; i++)
		(void)snprintf(text + strlen(text), 32, "p%d = v\n", i);
	load_file(text);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.kafka.property_count, WP_PROPERTIES_MAX);
	(void)snprintf(text + strlen(text), 32, "one.more = v\n");
	load_file(text);
	one_error("kafka.one.more: there are more than 256 Kafka properties");
	free(text);
}

int main(void)
{
	return RUN(CLEAN(values_come_with_their_place), CLEAN(a_value_is_kept_as_it_stands),
		   CLEAN(a_value_may_be_longer_than_any_buffer),
		   CLEAN(kafka_properties_pass_as_they_are), CLEAN(a_section_may_come_in_parts),
		   CLEAN(the_forms_that_editors_leave_are_read),
		   CLEAN(an_empty_file_gives_the_defaults), CLEAN(a_key_set_twice_names_both_lines),
		   CLEAN(each_further_repetition_names_the_first),
		   CLEAN(an_unknown_key_is_an_error_with_the_nearest),
		   CLEAN(an_unknown_section_is_an_error_with_the_nearest),
		   CLEAN(a_key_before_the_first_section_is_an_error),
		   CLEAN(a_line_that_is_nothing_is_an_error), CLEAN(a_continued_line_is_an_error),
		   CLEAN(what_is_not_utf8_is_an_error),
		   CLEAN(a_bad_value_names_place_key_value_and_what_is_allowed),
		   CLEAN(a_long_or_strange_value_is_cut_and_cleaned_in_the_message),
		   CLEAN(all_that_is_wrong_is_told_at_once),
		   CLEAN(more_errors_than_fit_are_counted),
		   CLEAN(a_file_that_is_not_there_is_an_error), CLEAN(a_folder_is_not_a_file),
		   CLEAN(a_nul_byte_is_an_error), CLEAN(a_file_may_be_one_mebibyte_and_no_more),
		   CLEAN(a_pipe_is_read_to_its_end), CLEAN(properties_are_taken_up_to_the_limit));
}
