#include "walpost/outbox/drop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/calendar.h"
#include "walpost/base/display.h"
#include "walpost/values/moment.h"

static bool is_skipped_type(const char *list, struct wp_span type)
{
	while (*list != '\0') {
		size_t size = strcspn(list, ",");
		struct wp_span pattern = wp_span_trimmed(list, list + size);
		if (pattern.size > 0 && wp_wildcard_matches(pattern, '*', type))
			return true;
		list += size + (list[size] == ',' ? 1 : 0);
	}
	return false;
}

static enum wp_rc refuse_expiry(struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	return wp_error_set(error, WP_DATA,
			    "\"%s\" is not a time after which the event expires: correct the row's "
			    "outbox.column.expires column",
			    wp_excerpt(&shown, text));
}

static enum wp_rc read_milliseconds(struct wp_span text, int64_t *ret_us, struct wp_error *error)
{
	char digits[24] = "";
	char *end = digits;

	if (text.size == 0 || text.size >= sizeof(digits))
		return refuse_expiry(text, error);
	memcpy(digits, text.data, text.size);
	errno = 0;
	long long ms = strtoll(digits, &end, 10);
	if (errno != 0 || end != digits + text.size)
		return refuse_expiry(text, error);
	*ret_us = ms > INT64_MAX / 1000 ? INT64_MAX : ms < INT64_MIN / 1000 ? INT64_MIN : ms * 1000;
	return WP_OK;
}

/* Gives the time since 1970. */
static enum wp_rc read_expiry_time(const struct wp_event *event, int64_t *ret_us,
				   struct wp_error *error)
{
	if (event->expires_type->type == WP_TYPE_INT8)
		return read_milliseconds(event->expires, ret_us, error);
	if (wp_span_is(event->expires, "infinity"))
		*ret_us = INT64_MAX;
	else if (wp_span_is(event->expires, "-infinity"))
		*ret_us = INT64_MIN;
	else
		return wp_moment_us(event->expires_type->type, event->expires, ret_us, error);
	return WP_OK;
}

enum wp_rc wp_drop_judge(const struct wp_outbox_options *options, const struct wp_event *event,
			 bool refused, int64_t now_us, enum wp_drop *ret, struct wp_error *error)
{
	int64_t expires_us;

	*ret = WP_DROP_NOT;
	if (options->skip_types[0] != '\0' && !wp_span_is_null(event->type) &&
	    is_skipped_type(options->skip_types, event->type)) {
		*ret = WP_DROP_TYPE;
		return WP_OK;
	}
	if (refused || options->expired == WP_EXPIRED_SEND || wp_span_is_null(event->expires))
		return WP_OK;
	enum wp_rc rc = read_expiry_time(event, &expires_us, error);
	if (rc == WP_OK && expires_us <= now_us + WP_POSTGRES_EPOCH_US)
		*ret = WP_DROP_EXPIRED;
	return rc;
}
