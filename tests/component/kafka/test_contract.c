/* The sink contract against librdkafka's mock cluster. */
#include "support/check.h"
#include "support/sink_contract.h"
#include "world.h"

static struct wp_sink *open_producer(void *arg)
{
	struct world *w = arg;

	world_open(w);
	return w->sink;
}

static void close_producer(void *arg, struct wp_sink *sink)
{
	(void)sink;
	world_close(arg);
}

static int64_t pump(void *arg, struct wp_sink *sink)
{
	struct world *w = arg;

	(void)sink;
	world_pump(w, 50);
	return w->now_ms;
}

static void hold(void *arg)
{
	world_down(arg);
}

static void heal(void *arg)
{
	world_up(arg);
}

int main(void)
{
	static struct world w;
	const struct wp_sink_driver driver = {
		.name = "kafka on the mock cluster",
		.topic = TOPIC,
		.arg = &w,
		.open = open_producer,
		.close = close_producer,
		.pump = pump,
		.hold = hold,
		.heal = heal,
	};

	world_init(&w, 1);
	world_topic(&w, TOPIC, 4);
	int failed = wp_sink_contract(&driver);
	world_release(&w);
	return failed;
}
