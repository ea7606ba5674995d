#include "libpq_files.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The defaults of libpq's "SSL support": https://www.postgresql.org/docs/current/libpq-ssl.html */
static const struct {
	const char *file;
	const char *option;
	const char *more;
} tls_files[] = {
	{ "/.postgresql/postgresql.crt", "sslcert",
	  "; a path where there is no file: no certificate is sent" },
	{ "/.postgresql/postgresql.key", "sslkey", "" },
	{ "/.postgresql/root.crt", "sslrootcert", "" },
	{ "/.postgresql/root.crl", "sslcrl", "" },
};

static bool is_home_set(void)
{
	const char *home = getenv("HOME");
	return home && *home;
}

static void copy(char into[static WP_LIBPQ_PATH_SIZE], const char *path)
{
	if (snprintf(into, WP_LIBPQ_PATH_SIZE, "%s", path) >= WP_LIBPQ_PATH_SIZE)
		*into = '\0';
}

void wp_libpq_home(char into[static WP_LIBPQ_PATH_SIZE])
{
	struct passwd entry, *found = NULL;
	char texts[4096];
	*into = '\0';
	if (is_home_set())
		copy(into, getenv("HOME"));
	else if (getpwuid_r(geteuid(), &entry, texts, sizeof(texts), &found) == 0 && found)
		copy(into, found->pw_dir);
}

/* "does not exist" is also what libpq says of a root.crt that it may not look for. */
static const char *why_not(const char *path)
{
	struct stat status;
	return stat(path, &status) != 0 && errno != ENOENT ? strerror(errno) : NULL;
}

static void write_cure(size_t index, const char *home, const char *path, char *cure, size_t size)
{
	const char *reason = why_not(path);
	(void)snprintf(
		cure, size,
		"libpq looks for this file in the home directory, which %s %.200s%s%s%s: set "
		"HOME to a directory that walpost's user can read, or %s= in "
		"postgres.conninfo%s",
		is_home_set() ? "the variable HOME says is" : "without HOME is", home,
		reason ? " (" : "", reason ? reason : "", reason ? ")" : "",
		tls_files[index].option, tls_files[index].more);
}

bool wp_libpq_home_cure(const char *libpq_error, char *cure, size_t size)
{
	char home[WP_LIBPQ_PATH_SIZE], path[WP_LIBPQ_PATH_SIZE + 40];
	if (strstr(libpq_error, "could not get home directory")) {
		(void)snprintf(cure, size,
			       "set sslrootcert= in postgres.conninfo, or HOME to the directory "
			       "that holds .postgresql/root.crt");
		return true;
	}
	wp_libpq_home(home);
	for (size_t i = 0; *home && i < sizeof(tls_files) / sizeof(tls_files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", home, tls_files[i].file);
		if (!strstr(libpq_error, path))
			continue;
		write_cure(i, home, path, cure, size);
		return true;
	}
	return false;
}
