#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/error.h"
#include "walpost/base/utf8.h"

const char *wp_reaction_name(enum wp_reaction reaction)
{
	static const char *const names[] = {
		[WP_REACT_NONE] = "none",
		[WP_REACT_AGAIN] = "again",
		[WP_REACT_WAIT_TOPIC] = "wait_topic",
		[WP_REACT_REWIND] = "rewind",
		[WP_REACT_ISOLATE] = "isolate",
		[WP_REACT_RECONNECT] = "reconnect",
		[WP_REACT_TRY_THRICE] = "try_thrice",
		[WP_REACT_STANDBY] = "standby",
		[WP_REACT_LET_GO] = "let_go",
		[WP_REACT_STOP_CONFIG] = "stop_config",
		[WP_REACT_STOP_HUMAN] = "stop_human",
	};
	size_t index = (size_t)reaction;

	return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

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
