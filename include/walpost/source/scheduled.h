/*
 * How does it stand with events that are to be sent later (sql/schedule.sql)? postgres/scheduler last heard this from
 * the server, for telemetry. Pure.
 */
#ifndef WALPOST_SOURCE_SCHEDULED_H
#define WALPOST_SOURCE_SCHEDULED_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"

struct wp_scheduled_figures {
	bool known; /* the following, as of the last answer; false: not streaming, or there is no such table */
	uint64_t due;		  /* their time has come; at most 1000 are counted */
	uint64_t overdue;	  /* of these, for more than ten seconds; likewise */
	uint64_t failed;	  /* set aside, to be tried again; likewise */
	int64_t late_ms;	  /* of the latest of all these */
	uint64_t moved;		  /* by this relay */
	uint64_t attempts_failed; /* of this relay */
	struct wp_error trouble;  /* why nothing is moved; "": nothing is in the way */
};

#endif
