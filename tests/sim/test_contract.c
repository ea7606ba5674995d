/* The simulation's fakes pass the suites that PostgreSQL and Kafka pass. */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/sink_contract.h"
#include "support/source_contract.h"
#include "world.h"

enum { TICK_MS = 5, TICKS_PER_PUMP = 2, OURS = 0, ANOTHER = 1, FOR_EVER_MS = 1000 * 1000 * 1000 };

/* One world at a time, with one of the two fakes in it. */
struct stage {
	struct world world;
	struct fake_source source;
	struct fake_sink sink;
	unsigned long wakes;
	int other_link; /* of a process that holds the slot, or -1 */
};

static struct stage stage;

static void set_up(void)
{
	stage = (struct stage){ .world = { .random = 4711 }, .other_link = -1 };
	server_init(&stage.world);
	broker_init(&stage.world);
}

static void tear_down(void)
{
	CHECK(stage.world.violation == NULL);
	broker_release(&stage.world);
}

static void tick(struct world *w)
{
	w->now_ms += TICK_MS;
	server_tick(w);
	broker_tick(w);
}

/* -- the source ----------------------------------------------------------- */

/* The other holder of the slot says that it lives and confirms nothing. */
static void other_tick(struct world *w)
{
	struct link *l = stage.other_link >= 0 ? &w->server.links[stage.other_link] : NULL;

	if (l == NULL || !l->streaming)
		return;
	l->frame_count = 0;
	server_take_status(w, stage.other_link, w->server.confirmed);
}

static void pump_source(void *arg)
{
	struct world *w = arg;

	for (int i = 0; i < TICKS_PER_PUMP; i++) {
		tick(w);
		other_tick(w);
		fake_source_tick(&stage.source);
	}
	stage.wakes += w->wake[OURS];
	w->wake[OURS] = false;
}

static unsigned long wakes(void *arg)
{
	return stage.wakes;
}

static void commit(void *arg, unsigned rows)
{
	server_commit(arg, rows);
}

static wp_lsn slot_confirmed(void *arg)
{
	return ((struct world *)arg)->server.confirmed;
}

static void hold_slot(void *arg)
{
	struct world *w = arg;

	stage.other_link = link_open(w, ANOTHER);
	server_start_stream(w, stage.other_link, w->server.confirmed);
}

static void release_slot(void *arg)
{
	struct world *w = arg;

	link_break(w, stage.other_link);
	w->server.links[stage.other_link].used = false;
	stage.other_link = -1;
}

static void break_connection(void *arg)
{
	struct world *w = arg;

	link_break(w, w->server.holder);
}

static void ask_to_stop(void *arg)
{
	server_stop(arg);
}

static void kill_server(void *arg)
{
	struct world *w = arg;

	server_crash(w, FOR_EVER_MS);
	w->server.up_at_ms = w->now_ms + FOR_EVER_MS; /* also one that was down already */
}

static void start_server(void *arg)
{
	struct world *w = arg;

	w->server.up_at_ms = w->now_ms;
	while (w->server.state != SERVER_UP)
		tick(w);
}

static void run_source_case(void **state)
{
	const struct source_contract_case *c = *state;

	set_up();
	/* The suite confirms what it has read; no sink is at work here. */
	memset(stage.world.broker.kept, true, sizeof(stage.world.broker.kept));
	fake_source_init(&stage.source, &stage.world, OURS, "walpost on test 1");
	struct source_driver driver = {
		.source = &stage.source.base,
		.owner = "walpost on test 1",
		.arg = &stage.world,
		.pump = pump_source,
		.wakes = wakes,
		.commit = commit,
		.slot_confirmed = slot_confirmed,
		.hold_slot = hold_slot,
		.release_slot = release_slot,
		.break_connection = break_connection,
		.ask_to_stop = ask_to_stop,
		.kill_server = kill_server,
		.start_server = start_server,
	};
	c->run(&driver);
	fake_source_die(&stage.source);
	tear_down();
}

static int source_contract(void)
{
	struct CMUnitTest *tests = calloc(source_contract_count, sizeof(*tests));

	assert_non_null(tests);
	for (size_t i = 0; i < source_contract_count; i++)
		tests[i] = (struct CMUnitTest){
			.name = source_contract_cases[i].name,
			.test_func = run_source_case,
			.initial_state = (void *)(uintptr_t)&source_contract_cases[i],
		};
	int failed = _cmocka_run_group_tests("source contract, simulation", tests,
					     source_contract_count, NULL, NULL);
	free(tests);
	return failed;
}

/* -- the sink ------------------------------------------------------------- */

static struct wp_sink *open_sink(void *arg)
{
	set_up();
	fake_sink_init(&stage.sink, &stage.world, OURS);
	return &stage.sink.base;
}

static void close_sink(void *arg, struct wp_sink *sink)
{
	sink->ops->free(sink, 0);
	tear_down();
}

static int64_t pump_sink(void *arg, struct wp_sink *sink)
{
	struct world *w = arg;

	tick(w);
	fake_sink_tick(&stage.sink);
	return w->now_ms;
}

static void hold(void *arg)
{
	((struct world *)arg)->broker.down_until_ms = INT64_MAX;
}

static void heal(void *arg)
{
	((struct world *)arg)->broker.down_until_ms = 0;
}

static int sink_contract(void)
{
	const struct wp_sink_driver driver = {
		.name = "sink contract, simulation",
		.topic = "outbox.event.t",
		.arg = &stage.world,
		.open = open_sink,
		.close = close_sink,
		.pump = pump_sink,
		.hold = hold,
		.heal = heal,
	};

	return wp_sink_contract(&driver);
}

int main(void)
{
	int failed = source_contract();

	return failed + sink_contract();
}
