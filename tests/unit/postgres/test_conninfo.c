#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/conninfo.h"

#include "support/check.h"

static void masked_is(const char *conninfo, const char *wanted)
{
	char *text = wp_conninfo_masked(conninfo);

	CHECK_TEXT(text, wanted);
	free(text);
}

static void a_password_is_masked_in_key_value_form(void **state)
{
	masked_is("host=db password=hush user=u", "user=u password=******** host=db");
	masked_is("host=db password='hu sh'", "password=******** host=db");
	masked_is("host=db password = hush", "password=******** host=db");
	masked_is("sslpassword=hush sslkey=/k", "sslkey=/k sslpassword=********");
}

static void a_password_is_masked_in_uri_form(void **state)
{
	masked_is("postgresql://u:hush@db/app", "user=u password=******** dbname=app host=db");
	masked_is("postgres://db/app?password=hush", "password=******** dbname=app host=db");
	masked_is("postgresql://u:hu%20sh@db:5433/app?sslpassword=hush",
		  "user=u password=******** dbname=app host=db port=5433 sslpassword=********");
}

static void what_cannot_be_taken_apart_is_masked_whole(void **state)
{
	masked_is("password=hush more hush", "********");
	masked_is("postgresql://u:hush@[db/app", "********");
	masked_is("nonsense", "********");
}

static void other_values_are_shown_and_quoted_as_needed(void **state)
{
	masked_is("", "");
	masked_is("passfile=/etc/pass host=db", "passfile=/etc/pass host=db");
	masked_is("application_name='a \\'b\\' \\\\ c'", "application_name='a \\'b\\' \\\\ c'");
	masked_is("dbname='' host=db", "dbname='' host=db");
}

static void a_secret_is_seen_in_both_forms(void **state)
{
	CHECK(wp_conninfo_has_secret("host=db password=hush"));
	CHECK(wp_conninfo_has_secret("postgresql://u:hush@db"));
	CHECK(wp_conninfo_has_secret("postgresql://db?password=hush"));
	CHECK(wp_conninfo_has_secret("password=hush more hush"));
	CHECK(!wp_conninfo_has_secret("host=db user=password"));
	CHECK(!wp_conninfo_has_secret("postgresql://u@db/app"));
	CHECK(!wp_conninfo_has_secret("password="));
	CHECK(!wp_conninfo_has_secret("nonsense"));
	CHECK(!wp_conninfo_has_secret(""));
}

static void a_password_is_told_from_other_secrets(void **state)
{
	CHECK(wp_conninfo_has_password("host=db password=hush"));
	CHECK(wp_conninfo_has_password("postgresql://u:hush@db"));
	CHECK(!wp_conninfo_has_password("host=db sslpassword=hush"));
	CHECK(!wp_conninfo_has_password("password=hush more hush"));
}

static void what_libpq_takes_is_right(void **state)
{
	struct wp_error error;

	CHECK_EQ(wp_conninfo_check("", &error), WP_OK);
	CHECK_EQ(wp_conninfo_check("host=db password=hush", &error), WP_OK);
	CHECK_EQ(wp_conninfo_check("postgresql://u:hush@db/app?sslmode=require", &error), WP_OK);
}

static void an_option_that_libpq_does_not_know_is_named(void **state)
{
	struct wp_error error;

	CHECK_EQ(wp_conninfo_check("hots=db", &error), WP_CONFIG);
	CHECK_HAS(error.text, "hots");
	assert_null(strchr(error.text, '\n'));
}

static void words_that_could_quote_a_password_are_withheld(void **state)
{
	static const char *const wrong[] = { "password=hush hush",
					     "host=db passwrod=x hush",
					     "postgresql://u:hush@[db",
					     "host=db user=u hush",
					     "hush",
					     "postgresql://u:hu%zzsh@db" };
	struct wp_error error;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(wp_conninfo_check(wrong[i], &error), WP_CONFIG);
		assert_null(strstr(error.text, "hu"));
		CHECK_HAS(error.text, "withheld");
	}
}

static void a_password_that_was_not_encoded_is_refused_and_not_repeated(void **state)
{
	static const char *const wrong[] = {
		"postgresql://u:p@hush@db/app",
		"postgres://u:p@@hush/app",
		"postgres://u:12/hush@db/app",
		"postgres://u:hu/sh@db/app",
		"postgres://u:p@hush:9@db/app",
		"postgres://db:hush/app",
		"postgres://u:p@a,hush@db/app",
		"postgres://db:5432,db2:hush/app",
		"host=u:hush@db",
		"host=db port=hush",
		"host=db port=123456",
		"postgres://db:0/app",
		"postgres://u:hush@db,db2:70000/app",
		"dbname=postgres://u:hush@db/app",
	};
	struct wp_error error;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(wp_conninfo_check(wrong[i], &error), WP_CONFIG);
		assert_null(strstr(error.text, "hu"));
		assert_null(strstr(error.text, "123456"));
		masked_is(wrong[i], "********");
		if (strncmp(wrong[i], "dbname", 6) != 0)
			CHECK_HAS(error.text, "percent-encode");
	}
}

static void an_at_that_belongs_there_is_right(void **state)
{
	static const char *const right[] = {
		"postgres://u:p%40hu%2Fsh@db:5432/app", "postgres://u@db/app%40home",
		"host=@abstract,db port=5432,",		"postgres://%40abstract/app",
		"postgres:///app?host=@abstract",	"postgres://u@db?application_name=a@b",
		"host=a,@b port=1,65535 user=me@home",	"postgres://u:p?hush@db/app",
		"host=a,/run/user@1000/postgres",
	};
	struct wp_error error;

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		CHECK_EQ(wp_conninfo_check(right[i], &error), WP_OK);
}

int main(void)
{
	return RUN(PLAIN(a_password_is_masked_in_key_value_form),
		   PLAIN(a_password_is_masked_in_uri_form),
		   PLAIN(what_cannot_be_taken_apart_is_masked_whole),
		   PLAIN(other_values_are_shown_and_quoted_as_needed),
		   PLAIN(a_secret_is_seen_in_both_forms),
		   PLAIN(a_password_is_told_from_other_secrets), PLAIN(what_libpq_takes_is_right),
		   PLAIN(an_option_that_libpq_does_not_know_is_named),
		   PLAIN(words_that_could_quote_a_password_are_withheld),
		   PLAIN(a_password_that_was_not_encoded_is_refused_and_not_repeated),
		   PLAIN(an_at_that_belongs_there_is_right));
}
