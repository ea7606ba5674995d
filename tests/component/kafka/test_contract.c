/*
 * The sink contract against librdkafka's mock cluster, or against a real broker:
 *
 *   test_kafka_contract                      a mock cluster of its own
 *   test_kafka_contract ADDRESS PID TOPIC    a broker; PID is stopped and continued
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>

#include "support/check.h"
#include "support/sink_contract.h"
#include "world.h"

struct place {
	struct world world;
	pid_t broker; /* 0: the mock */
};

static struct wp_sink *open_producer(void *arg)
{
	struct place *place = arg;

	world_open(&place->world);
	return place->world.sink;
}

static void close_producer(void *arg, struct wp_sink *sink)
{
	struct place *place = arg;

	world_close(&place->world);
}

static int64_t pump(void *arg, struct wp_sink *sink)
{
	struct place *place = arg;

	world_pump(&place->world, 50);
	return place->world.now_ms;
}

static void hold(void *arg)
{
	struct place *place = arg;

	if (place->broker == 0)
		world_down(&place->world);
	else
		CHECK_EQ(kill(place->broker, SIGSTOP), 0);
}

static void heal(void *arg)
{
	struct place *place = arg;

	if (place->broker == 0)
		world_up(&place->world);
	else
		CHECK_EQ(kill(place->broker, SIGCONT), 0);
}

int main(int argc, char **argv)
{
	static struct place place;
	struct wp_sink_driver driver = {
		.name = "kafka on the mock cluster",
		.topic = TOPIC,
		.arg = &place,
		.open = open_producer,
		.close = close_producer,
		.pump = pump,
		.hold = hold,
		.heal = heal,
	};

	world_init(&place.world, 1);
	world_topic(&place.world, TOPIC, 4);
	if (argc == 4) {
		driver.name = "kafka on a real broker";
		driver.topic = argv[3];
		place.broker = (pid_t)strtol(argv[2], NULL, 10);
		world_property(&place.world, "bootstrap.servers", argv[1]);
	}
	int failed = wp_sink_contract(&driver);
	world_release(&place.world);
	return failed;
}
