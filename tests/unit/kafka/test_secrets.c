#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "walpost/kafka/secrets.h"
#include "support/check.h"
#include "support/files.h"
#include "walpost/base/secret_file.h"

static char folder[64];
static char certificate[80], key[80], password[80];
static struct wp_kafka_options options;
static struct wp_secret_file *password_file;
static struct wp_secrets secrets;
static struct wp_error error;

/* As who rotates a secret does: another file in place of the old one. */
static void replace(const char *path, const char *text)
{
	char new[96];

	(void)snprintf(new, sizeof(new), "%s.new", path);
	write_text(new, text);
	CHECK_EQ(rename(new, path), 0);
}

static void with(const char *name, const char *value, struct wp_secret_file *file)
{
	options.properties[options.property_count++] =
		(struct wp_property){ .name = name, .value = value, .file = file };
}

static void check_wants(enum wp_secrets_state wanted)
{
	CHECK_EQ(wp_secrets_check(&secrets, &error), wanted);
}

static int set_up(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/walpost-secrets-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	(void)snprintf(certificate, sizeof(certificate), "%s/tls.crt", folder);
	(void)snprintf(key, sizeof(key), "%s/tls.key", folder);
	(void)snprintf(password, sizeof(password), "%s/password", folder);
	write_text(certificate, "certificate");
	write_text(key, "key");
	write_text(password, "hush");
	CHECK_EQ(wp_secret_file_new(password, &password_file, &error), WP_OK);
	options = (struct wp_kafka_options){ .property_count = 0 };
	with("bootstrap.servers", "k:9092", NULL);
	with("ssl.certificate.location", certificate, NULL);
	with("ssl.key.location", key, NULL);
	with("ssl.ca.location", "probe", NULL);
	with("sasl.password", "hush", password_file);
	wp_secrets_init(&secrets, &options);
	check_wants(WP_SECRETS_UNSETTLED); /* nothing is in use yet */
	wp_secrets_apply(&secrets);
	return 0;
}

static int tear_down(void **state)
{
	wp_secret_file_free(password_file);
	(void)unlink(certificate);
	(void)unlink(key);
	(void)unlink(password);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}

static void nothing_changes_while_nobody_writes(void **state)
{
	CHECK_EQ(secrets.count, 4);
	check_wants(WP_SECRETS_SAME);
	check_wants(WP_SECRETS_SAME);
}

static void a_change_is_one_when_it_was_seen_twice(void **state)
{
	struct wp_error changed;

	replace(certificate, "another");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
	check_wants(WP_SECRETS_CHANGED);
	CHECK(!wp_secrets_is_login(&secrets));
	wp_secrets_changed(&secrets, &changed);
	CHECK_HAS(changed.text, "ssl.certificate.location (/tmp/walpost-secrets-");
	assert_null(strstr(changed.text, "ssl.key"));
	wp_secrets_apply(&secrets);
	check_wants(WP_SECRETS_SAME);
}

static void while_somebody_writes_it_is_none(void **state)
{
	struct wp_error changed;

	replace(certificate, "another");
	check_wants(WP_SECRETS_UNSETTLED);
	replace(key, "its key");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
	wp_secrets_changed(&secrets, &changed);
	CHECK_HAS(changed.text, "tls.crt), ssl.key.location (");
}

static void what_is_written_in_place_with_the_same_size_is_seen(void **state)
{
	write_text(key, "KEY");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
}

static void the_swap_of_a_symbolic_link_is_seen(void **state)
{
	char one[96], two[96], link[96], new[96];

	(void)snprintf(one, sizeof(one), "%s/one", folder);
	(void)snprintf(two, sizeof(two), "%s/two", folder);
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	(void)snprintf(new, sizeof(new), "%s/link.new", folder);
	write_text(one, "x");
	write_text(two, "x");
	CHECK_EQ(symlink(one, link), 0);
	options.property_count = 0;
	with("ssl.ca.location", link, NULL);
	wp_secrets_init(&secrets, &options);
	check_wants(WP_SECRETS_UNSETTLED);
	wp_secrets_apply(&secrets);
	CHECK_EQ(symlink(two, new), 0);
	CHECK_EQ(rename(new, link), 0);
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
	CHECK_EQ(unlink(one) + unlink(two) + unlink(link), 0);
}

static void what_comes_back_as_it_was_is_no_change(void **state)
{
	char aside[96];

	(void)snprintf(aside, sizeof(aside), "%s.aside", key);
	CHECK_EQ(rename(key, aside), 0);
	check_wants(WP_SECRETS_UNSETTLED);
	CHECK_EQ(rename(aside, key), 0);
	check_wants(WP_SECRETS_SAME);
}

static void one_that_is_gone_or_empty_is_of_no_use(void **state)
{
	CHECK_EQ(unlink(key), 0);
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_UNUSABLE);
	CHECK_HAS(error.text, "ssl.key.location");
	CHECK_HAS(error.text, "is gone");
	write_text(key, "");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_UNUSABLE);
	CHECK_HAS(error.text, "is empty");
	write_text(key, "new");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
}

static void a_new_password_alone_is_a_login(void **state)
{
	replace(password, "new");
	check_wants(WP_SECRETS_UNSETTLED);
	check_wants(WP_SECRETS_CHANGED);
	CHECK(wp_secrets_is_login(&secrets));
	replace(certificate, "new");
	check_wants(WP_SECRETS_UNSETTLED);
	CHECK(!wp_secrets_is_login(&secrets));
}

static void more_files_than_can_be_watched_are_not(void **state)
{
	options.property_count = 0;
	for (size_t i = 0; i <= WP_SECRETS_MAX; i++)
		with("ssl.ca.location", certificate, NULL);
	wp_secrets_init(&secrets, &options);
	CHECK_EQ(secrets.count, WP_SECRETS_MAX);
	options.property_count = WP_SECRETS_MAX - 1;
	wp_secrets_init(&secrets, &options);
	CHECK_EQ(secrets.count, WP_SECRETS_MAX - 1);
}

int main(void)
{
	return RUN(TEST(nothing_changes_while_nobody_writes),
		   TEST(a_change_is_one_when_it_was_seen_twice),
		   TEST(while_somebody_writes_it_is_none),
		   TEST(what_is_written_in_place_with_the_same_size_is_seen),
		   TEST(the_swap_of_a_symbolic_link_is_seen),
		   TEST(what_comes_back_as_it_was_is_no_change),
		   TEST(one_that_is_gone_or_empty_is_of_no_use),
		   TEST(a_new_password_alone_is_a_login),
		   TEST(more_files_than_can_be_watched_are_not));
}
