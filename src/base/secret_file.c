#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "walpost/base/file_text.h"
#include "walpost/base/secret_file.h"

struct wp_secret_file {
	char *path;
	bool is_regular;      /* as it was at first */
	pthread_mutex_t lock; /* guards the rest */
	char *text;	      /* read last */
	bool is_lost;
};

/* One newline that an editor or echo left at the end is not part of a secret. */
static void strip_newline(char *text)
{
	size_t size = strlen(text);

	if (size > 0 && text[size - 1] == '\n')
		text[--size] = '\0';
	if (size > 0 && text[size - 1] == '\r')
		text[--size] = '\0';
}

static bool is_regular(const char *path)
{
	struct stat facts;

	return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

enum wp_rc wp_secret_file_new(const char *path, struct wp_secret_file **ret, struct wp_error *error)
{
	struct wp_secret_file *f = calloc(1, sizeof(*f));
	enum wp_rc rc;

	if (f == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory");
	if (pthread_mutex_init(&f->lock, NULL) != 0) {
		free(f);
		return wp_error_set(error, WP_NOMEM, "out of memory");
	}
	f->path = strdup(path);
	f->is_regular = is_regular(path);
	rc = f->path == NULL ? wp_error_set(error, WP_NOMEM, "out of memory")
			     : wp_file_text(path, &f->text, error);
	if (rc != WP_OK) {
		wp_secret_file_free(f);
		return rc;
	}
	strip_newline(f->text);
	*ret = f;
	return WP_OK;
}

void wp_secret_file_free(struct wp_secret_file *f)
{
	if (f == NULL)
		return;
	(void)pthread_mutex_destroy(&f->lock); /* nobody reads any more */
	free(f->path);
	free(f->text);
	free(f);
}

const char *wp_secret_file_path(const struct wp_secret_file *f)
{
	return f->path;
}

bool wp_secret_file_is_regular(const struct wp_secret_file *f)
{
	return f->is_regular;
}

/* Reads what stands there now; returns WP_CONFIG with the error when it is of no use. */
static enum wp_rc read_now(const struct wp_secret_file *f, bool (*is_usable)(const char *text),
			   char **ret, struct wp_error *error)
{
	char *text = NULL;

	/* Opening a FIFO could wait without an end. */
	if (!is_regular(f->path))
		return wp_error_set(error, WP_CONFIG,
				    "%s was removed or is no longer a regular file", f->path);
	enum wp_rc rc = wp_file_text(f->path, &text, error);
	if (rc != WP_OK)
		return rc;
	strip_newline(text);
	if (text[0] == '\0' && f->text[0] != '\0')
		rc = wp_error_set(error, WP_CONFIG, "%s is empty", f->path);
	else if (is_usable != NULL && !is_usable(text))
		rc = wp_error_set(error, WP_CONFIG, "%s contains no usable value", f->path);
	if (rc != WP_OK) {
		free(text);
		return rc;
	}
	*ret = text;
	return WP_OK;
}

static enum wp_rc renew(struct wp_secret_file *f, bool (*is_usable)(const char *text),
			struct wp_secret_text *ret)
{
	char *text = NULL;

	if (!f->is_regular)
		return WP_OK;
	enum wp_rc rc = read_now(f, is_usable, &text, &ret->error);
	if (rc == WP_OK) {
		ret->news = strcmp(text, f->text) == 0 ? WP_SECRET_SAME : WP_SECRET_NEW;
		f->is_lost = false;
		free(f->text);
		f->text = text;
		return WP_OK;
	}
	if (rc != WP_CONFIG)
		return rc;
	ret->news = f->is_lost ? WP_SECRET_STILL_LOST : WP_SECRET_LOST;
	f->is_lost = true;
	return WP_OK;
}

enum wp_rc wp_secret_file_read(struct wp_secret_file *f, bool (*is_usable)(const char *text),
			       struct wp_secret_text *ret)
{
	*ret = (struct wp_secret_text){ .news = WP_SECRET_SAME };
	(void)pthread_mutex_lock(&f->lock); /* fails only when misused */
	enum wp_rc rc = renew(f, is_usable, ret);
	if (rc == WP_OK) {
		ret->text = strdup(f->text);
		rc = ret->text == NULL ? WP_NOMEM : WP_OK;
	}
	(void)pthread_mutex_unlock(&f->lock);
	return rc;
}

char *wp_secret_now(struct wp_secret_file *f, const char *text)
{
	struct wp_secret_text now;

	if (f == NULL)
		return strdup(text);
	return wp_secret_file_read(f, NULL, &now) == WP_OK ? now.text : NULL;
}
