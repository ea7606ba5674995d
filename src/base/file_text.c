#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "walpost/base/file_text.h"

static enum wp_rc read_all(int fd, char *text, size_t *ret_size)
{
	size_t size = 0;

	while (size <= WP_FILE_TEXT_SIZE_MAX) {
		ssize_t n = read(fd, text + size, WP_FILE_TEXT_SIZE_MAX + 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return WP_CONFIG;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	text[size] = '\0';
	*ret_size = size;
	return WP_OK;
}

static enum wp_rc check_text(const char *path, const char *text, size_t size,
			     struct wp_error *error)
{
	if (size > WP_FILE_TEXT_SIZE_MAX)
		return wp_error_set(error, WP_CONFIG,
				    "%s is larger than 1 MiB, which no setting needs", path);
	if (strlen(text) != size)
		return wp_error_set(error, WP_CONFIG,
				    "%s contains a NUL byte: it is not a text file", path);
	return WP_OK;
}

/* Opening a FIFO that nobody writes must not hang the start; reading one that is
 * written, such as <(command), waits for its end. */
static int open_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, 0); /* else reading says so */
	return fd;
}

enum wp_rc wp_file_text(const char *path, char **ret, struct wp_error *error)
{
	int fd = open_text(path);
	char *text = NULL;
	size_t size = 0;
	enum wp_rc rc;

	if (fd < 0)
		return wp_error_set(error, WP_CONFIG, "%s cannot be read: %s", path,
				    strerror(errno));
	text = malloc(WP_FILE_TEXT_SIZE_MAX + 2);
	if (text == NULL) {
		rc = wp_error_set(error, WP_NOMEM, "out of memory");
		goto out;
	}
	rc = read_all(fd, text, &size);
	if (rc != WP_OK) {
		rc = wp_error_set(error, WP_CONFIG, "%s cannot be read: %s", path, strerror(errno));
		goto out;
	}
	rc = check_text(path, text, size, error);
	if (rc != WP_OK)
		goto out;
	*ret = text;
	text = NULL;
out:
	free(text);
	(void)close(fd); /* only read from */
	return rc;
}
