/* These figures tell what is parked, for metrics and status. */
#ifndef WALPOST_RELAY_PARKING_FIGURES_H
#define WALPOST_RELAY_PARKING_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_PARKING_CODES_MAX 16
#define WP_PARKING_CODE_SIZE 48

struct wp_parking_code {
	char code[WP_PARKING_CODE_SIZE]; /* why, in a word; "OTHER": all beyond the room */
	uint64_t aggregates;
};

struct wp_parking_figures {
	bool on;    /* relay.poison = park: else the rest means nothing */
	bool ready; /* the set is in memory */
	bool known; /* so is what is in the table, perhaps as of a stream that ended within a minute: */
	uint64_t aggregates;
	uint64_t events;
	int64_t since_ms;      /* the oldest was parked, monotonic; INT64_MAX: none is */
	uint64_t parked;       /* events, by this process; so are these: */
	uint64_t delivered;    /* sent again and confirmed */
	uint64_t failed;       /* attempts */
	uint64_t dead_letters; /* that took the place of a parked event */
	uint64_t skipped;      /* given up by people */
	struct wp_parking_code codes[WP_PARKING_CODES_MAX]; /* of the first events of aggregates */
	size_t code_count;
	/* The relay's: why the table has not been readable or writable for seconds; "": it is. */
	const char *trouble;
	int64_t trouble_ms; /* since when, monotonic; INT64_MIN: there is none */
};

#endif
