#include "libpq_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* These are libpq's defaults (see "SSL support",
 * https://www.postgresql.org/docs/current/libpq-ssl.html). */
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

static void write_cure(size_t index, const char *home, const char *path, char *cure, size_t size)
{
	/* "does not exist" is also what libpq says of a root.crt that it may not look for. */
	struct stat status;
	const char *reason = stat(path, &status) != 0 && errno != ENOENT ? strerror(errno) : NULL;
	(void)snprintf(
		cure, size,
		"libpq looks for this file in the home directory, which %s %.200s%s%s%s: set HOME "
		"to a directory that walpost's user can read, or %s= in postgres.conninfo%s",
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

#define PASSWORD_FILE_CURE \
	"name the file in WALPOST__POSTGRES__PASSWORD_FILE, which is read with any mode"

/* Judges as passwordFromFile() of libpq's fe-connect.c does; without its warning libpq says
 * nothing of the others. */
static void judge_mode(const struct stat *status, struct wp_passfile *p)
{
	bool is_open = (status->st_mode & (S_IRWXG | S_IRWXO)) != 0;

	(void)snprintf(p->mode, sizeof(p->mode), "%04o", (unsigned)(status->st_mode & 07777));
	p->ignored = !S_ISREG(status->st_mode) || is_open;
	if (!S_ISREG(status->st_mode))
		(void)snprintf(p->trouble, sizeof(p->trouble),
			       "libpq ignores the passfile %s: it is not a plain file; name a "
			       "plain file with mode 0600, or " PASSWORD_FILE_CURE,
			       p->path);
	else if (is_open)
		(void)snprintf(p->trouble, sizeof(p->trouble),
			       "libpq ignores the passfile %s: it has mode %s, which lets others "
			       "than its owner have it; chmod 0600 it (a Secret that Kubernetes "
			       "mounts with fsGroup cannot have this mode: copy it), or write the "
			       "password alone into a file and " PASSWORD_FILE_CURE,
			       p->path, p->mode);
}

static void judge_reading(const char *written, struct wp_passfile *p)
{
	const char *cure = *written ? "correct passfile in postgres.conninfo or PGPASSFILE"
				    : "set HOME to a directory that walpost's user can read";
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		(void)close(fd);	      /* nothing was written */
	else if (*written || errno != ENOENT) /* few have a .pgpass */
		(void)snprintf(p->trouble, sizeof(p->trouble),
			       "the passfile %s cannot be read: %s; let walpost's user own the "
			       "file, %s, or use postgres.password",
			       p->path, strerror(errno), cure);
}

void wp_passfile_judge(const char *written, struct wp_passfile *ret)
{
	struct stat status;

	*ret = (struct wp_passfile){ .path = "" };
	if (*written) {
		copy(ret->path, written);
	} else {
		char home[WP_LIBPQ_PATH_SIZE];
		wp_libpq_home(home);
		if (snprintf(ret->path, sizeof(ret->path), "%s/.pgpass", home) >=
			    (int)sizeof(ret->path) ||
		    !*home)
			ret->path[0] = '\0';
	}
	if (!ret->path[0])
		return;
	if (stat(ret->path, &status) == 0)
		judge_mode(&status, ret);
	if (!ret->ignored)
		judge_reading(written, ret);
}
