/*
 * Is an event still to be sent? Not one of a type under outbox.skip.types, nor one whose
 * outbox.column.expires is over, with outbox.expired = drop. Pure.
 */
#ifndef WALPOST_OUTBOX_DROP_H
#define WALPOST_OUTBOX_DROP_H

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/options.h"

enum wp_drop {
	WP_DROP_NOT,
	WP_DROP_TYPE,	 /* outbox.skip.types names it */
	WP_DROP_EXPIRED, /* with outbox.expired = send this is not asked */
};

/*
 * `now_us`: the server's time, since 2000-01-01 UTC. `refused`: reading the event gave WP_DATA, so that
 * only its type counts. WP_DATA with the error: the time is none.
 */
enum wp_rc wp_drop_judge(const struct wp_outbox_options *options, const struct wp_event *event,
			 bool refused, int64_t now_us, enum wp_drop *ret,
			 struct wp_error *error) WP_MUST_CHECK;

#endif
