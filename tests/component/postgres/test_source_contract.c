/* The real source passes what every source must pass. */
#include "harness.h"

#include <stdlib.h>

#include "support/source_contract.h"

static struct harness harness;

static void pump(void *arg)
{
	harness_pump(arg);
}

static unsigned long wakes(void *arg)
{
	return ((struct harness *)arg)->wakes;
}

static void commit(void *arg, unsigned rows)
{
	harness_sql(arg,
		    "INSERT INTO outbox SELECT i, 'order', 'a', 'made', 'x' FROM "
		    "generate_series(1, %u) i",
		    rows);
}

static wp_lsn slot_confirmed(void *arg)
{
	return harness_confirmed(arg);
}

static void hold_slot(void *arg)
{
	harness_hold_slot(arg);
}

static void release_slot(void *arg)
{
	harness_release_slot(arg);
}

static void break_connection(void *arg)
{
	harness_sql(arg, "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots");
}

static void ask_to_stop(void *arg)
{
	harness_ask_to_stop(arg);
}

static void kill_server(void *arg)
{
	harness_kill_server(arg);
}

static void start_server(void *arg)
{
	harness_start_server(arg);
}

static void run_case(void **state)
{
	const struct source_contract_case *c = *state;
	harness_init(&harness);
	harness_stream(&harness);
	struct source_driver driver = {
		.source = harness.source,
		.owner = "walpost on test 1",
		.arg = &harness,
		.pump = pump,
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
	harness_release(&harness);
}

int main(void)
{
	struct CMUnitTest *tests = calloc(source_contract_count, sizeof(*tests));
	assert_non_null(tests);
	for (size_t i = 0; i < source_contract_count; i++)
		tests[i] = (struct CMUnitTest){
			.name = source_contract_cases[i].name,
			.test_func = run_case,
			.initial_state = (void *)(uintptr_t)&source_contract_cases[i],
		};
	int failed = _cmocka_run_group_tests("source contract, PostgreSQL", tests,
					     source_contract_count, NULL, NULL);
	free(tests);
	return failed;
}
