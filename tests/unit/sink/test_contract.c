/* The sink contract on standard output: a pipe whose reader can stop. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "support/check.h"
#include "support/sink_contract.h"
#include "walpost/sink/stdout.h"

struct world {
	int ends[2];
	bool reads;
	int64_t now_ms;
};

static struct wp_sink *open_stdout(void *arg)
{
	struct world *w = arg;
	struct wp_sink *sink = NULL;

	CHECK_EQ(pipe(w->ends), 0);
	CHECK_EQ(wp_stdout_new(w->ends[1], &sink, NULL), WP_OK);
	return sink;
}

static void close_stdout(void *arg, struct wp_sink *sink)
{
	struct world *w = arg;

	sink->ops->free(sink, 0);
	(void)close(w->ends[0]);
	(void)close(w->ends[1]);
}

static void read_all(struct world *w)
{
	char trash[4096];
	struct pollfd ready = { .fd = w->ends[0], .events = POLLIN };

	while (poll(&ready, 1, 0) > 0 && read(w->ends[0], trash, sizeof(trash)) > 0)
		continue;
}

static int64_t pump(void *arg, struct wp_sink *sink)
{
	struct world *w = arg;

	if (w->reads)
		read_all(w);
	return ++w->now_ms;
}

static void hold(void *arg)
{
	((struct world *)arg)->reads = false;
}

static void heal(void *arg)
{
	((struct world *)arg)->reads = true;
}

int main(void)
{
	static struct world w;
	const struct wp_sink_driver driver = {
		.name = "stdout",
		.topic = "orders",
		.arg = &w,
		.open = open_stdout,
		.close = close_stdout,
		.pump = pump,
		.hold = hold,
		.heal = heal,
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return wp_sink_contract(&driver);
}
