/*
 * The relay asks this of one that removes rows of the outboxes whose events are in Kafka; postgres/cleaner is the real
 * one, the simulation has another.
 *
 *   CLOSED -open-> LOOKING -> LOOKED -remove-> REMOVING -> LOOKING
 *   any -close-> CLOSED     (at once: what was looked at is forgotten, and never removed)
 *
 * LOOKED: rows were looked at, and after that how far the log is, `lsn`. All that was visible to the look was committed
 * before `lsn`. So the relay calls remove() once its own ledger has confirmed all events up to there, in the stream in
 * which it called open(): neither the slot's position says that, which people move, nor another stream's, which may be
 * of another server. Rows that were never in the stream are the store's to know (sql/cleanup.sql).
 *
 * Single-threaded, nothing waits. Bounded: one batch at a time.
 */
#ifndef WALPOST_SOURCE_CLEANUP_H
#define WALPOST_SOURCE_CLEANUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/wal/lsn.h"

enum wp_cleanup_mode { WP_CLEANUP_NONE, WP_CLEANUP_DELETE, WP_CLEANUP_MARK, WP_CLEANUP_DROP };

/* Events that the relay drops on purpose are never in Kafka: no outbox may have any, or their rows go like the
 * others. */
enum wp_cleanup_dropped { WP_CLEANUP_DROPPED_ERROR, WP_CLEANUP_DROPPED_REMOVE };

struct wp_cleanup_options {
	enum wp_cleanup_mode mode;
	enum wp_cleanup_dropped dropped;
	int64_t keep_ms;	 /* younger rows stay, by their own time and the server's clock */
	int64_t interval_ms;	 /* between two looks when nothing is old enough */
	int64_t pause_ms;	 /* at least, after a batch */
	size_t batch;		 /* rows */
	size_t partitions_ahead; /* with DROP */
};

enum wp_cleanup_state {
	WP_CLEANUP_CLOSED,
	WP_CLEANUP_LOOKING, /* or waits to look */
	WP_CLEANUP_LOOKED,
	WP_CLEANUP_REMOVING,
};

/* One outbox has these counts, by this process. */
struct wp_cleanup_count {
	const char *outbox; /* as in metrics: its name, or its table */
	uint64_t removed;   /* rows; with DROP partitions */
};

struct wp_cleanup_view {
	enum wp_cleanup_state state;
	wp_lsn lsn; /* LOOKED */
	const struct wp_cleanup_count *counts;
	size_t count;
	struct wp_error
		waits; /* what must happen before anything is removed, of the last outbox that waits; "": nothing */
	struct wp_error trouble; /* why the server cannot be asked; "": it can */
};

struct wp_cleanup_store;

struct wp_cleanup_store_ops {
	void (*open)(struct wp_cleanup_store *s);
	void (*close)(struct wp_cleanup_store *s);
	/* Must be LOOKED. */
	void (*remove)(struct wp_cleanup_store *s);
	/* The view is the same for life: what it says changes, and then the setup's wake is called. */
	const struct wp_cleanup_view *(*view)(struct wp_cleanup_store *s);
};

struct wp_cleanup_store {
	const struct wp_cleanup_store_ops *ops;
};

#endif
