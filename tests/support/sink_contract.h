/*
 * What every sink must do, whatever stands behind it: the simulation's fake,
 * standard output, librdkafka's mock cluster, a real broker. A driver opens the
 * sink and lets its world go on; the suite asserts by sink.h alone.
 */
#ifndef WALPOST_TESTS_SINK_CONTRACT_H
#define WALPOST_TESTS_SINK_CONTRACT_H

#include "walpost/sink/sink.h"

struct wp_sink_driver {
	const char *name;
	const char *topic; /* exists, one partition or more */
	void *arg;
	/* A new sink, in a world that is well; it may still be STARTING. */
	struct wp_sink *(*open)(void *arg);
	void (*close)(void *arg, struct wp_sink *sink);
	/* Lets the world go on until the sink may want to be collected, or some
	 * time has passed; does not collect. Returns the time (ms, monotonic). */
	int64_t (*pump)(void *arg, struct wp_sink *sink);
	/* The other side takes nothing more; and takes again. */
	void (*hold)(void *arg);
	void (*heal)(void *arg);
};

/* Runs the suite; the number of tests that failed, as cmocka returns it. */
int wp_sink_contract(const struct wp_sink_driver *driver);

#endif
