#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/utf8.h"
#include "walpost/base/why.h"

enum wp_rc wp_why_set(struct wp_why *why, enum wp_rc rc, const char *format, ...)
{
	va_list arguments;

	if (why == NULL)
		return rc;
	/* An argument may be the old text of the same why ("while X: old"). */
	struct wp_why fresh;
	va_start(arguments, format);
	int size = vsnprintf(fresh.text, sizeof(fresh.text), format, arguments);
	va_end(arguments);
	assert(size >= 0);
	if ((size_t)size >= sizeof(fresh.text))
		wp_utf8_cut(fresh.text, sizeof(fresh.text) - 1);
	memcpy(why->text, fresh.text, strlen(fresh.text) + 1);
	return rc;
}
