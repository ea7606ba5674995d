/*
 * What is to be done about a slot that is gone, that cannot be used any more, or that somebody moved? The log,
 * `status` and `check` say it in these words; pages and runbook name the same commands.
 */
#ifndef WALPOST_SOURCE_SLOT_CURE_H
#define WALPOST_SOURCE_SLOT_CURE_H

#define WP_SLOT_MISSING_BEGINS "there is no slot "

/* This is a format, and takes the slot's name. */
#define WP_SLOT_MISSING                                                                           \
	WP_SLOT_MISSING_BEGINS "%.64s. If a relay has used it, stop all relays and run `walpost " \
			       "backfill --missing`, which sends the rows that Kafka does not "   \
			       "have and creates the "                                            \
			       "slot; for a first start, run `walpost init`"

#define WP_SLOT_REPLACE                                                                           \
	"Stop all relays and run `walpost backfill --missing --force`, which sends the rows "     \
	"that Kafka does not have and replaces the slot (logical messages and events of deleted " \
	"rows that it still holds are given up)"

#define WP_SLOT_MOVED WP_SLOT_REPLACE "; or, if nothing is missing, `walpost slot accept`"

#endif
