#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/why.h"

/* What was cut may end inside a character: take back its first bytes. */
static void cut_at_character(char *text, size_t size)
{
	size_t start = size;

	while (start > 0 && size - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
		start--;
	if (start == 0)
		return;

	unsigned char lead = (unsigned char)text[start - 1];
	size_t wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
	if (wanted > size - start + 1)
		text[start - 1] = '\0';
}

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
		cut_at_character(fresh.text, sizeof(fresh.text) - 1);
	memcpy(why->text, fresh.text, strlen(fresh.text) + 1);
	return rc;
}
