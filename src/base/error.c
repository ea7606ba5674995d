#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/utf8.h"
#include "walpost/base/error.h"

enum wp_rc wp_error_set(struct wp_error *error, enum wp_rc rc, const char *format, ...)
{
	va_list arguments;

	if (error == NULL)
		return rc;
	/* An argument may be the old text of the same why ("while X: old"). */
	struct wp_error fresh;
	va_start(arguments, format);
	int size = vsnprintf(fresh.text, sizeof(fresh.text), format, arguments);
	va_end(arguments);
	assert(size >= 0);
	if ((size_t)size >= sizeof(fresh.text))
		wp_utf8_cut(fresh.text, sizeof(fresh.text) - 1);
	memcpy(error->text, fresh.text, strlen(fresh.text) + 1);
	return rc;
}
