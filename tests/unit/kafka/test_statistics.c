#include <string.h>

#include "support/check.h"
#include "walpost/kafka/statistics.h"

static struct wp_sink_figures read(const char *text)
{
	struct wp_sink_figures f = { 0 };

	wp_statistics_read(text, strlen(text), &f);
	return f;
}

static void what_librdkafka_tells_is_read(void **state)
{
	struct wp_sink_figures f = read(
		"{\"msg_cnt\":12,\"msg_size\":345,\"tx\":6,\"tx_bytes\":789,\"brokers\":{"
		"\"GroupCoordinator\":{\"nodeid\":-1,\"state\":\"INIT\"},"
		"\"b:9092/bootstrap\":{\"nodeid\":-1,\"state\":\"UP\",\"txretries\":1},"
		"\"b:9092/1\":{\"nodeid\":1,\"state\":\"UP\",\"txretries\":2,\"req_timeouts\":3,"
		"\"rtt\":{\"p50\":400,\"p99\":5000}},"
		"\"c:9092/2\":{\"nodeid\":2,\"state\":\"CONNECT\"}}}");

	CHECK(f.known);
	CHECK_EQ(f.messages, 12);
	CHECK_EQ(f.bytes, 345);
	CHECK_EQ(f.requests, 6);
	CHECK_EQ(f.sent_bytes, 789);
	CHECK_EQ(f.retries, 3);
	CHECK_EQ(f.timeouts, 3);
	CHECK_EQ(f.broker_count, 2);
	CHECK_TEXT(f.brokers[0].name, "b:9092/1");
	CHECK(f.brokers[0].up);
	CHECK_EQ(f.brokers[0].rtt_p50_us, 400);
	CHECK_EQ(f.brokers[0].rtt_p99_us, 5000);
	CHECK(!f.brokers[1].up);
}

static void before_a_broker_is_known_the_configured_ones_are_told(void **state)
{
	struct wp_sink_figures f =
		read("{\"brokers\":{\"a:1/bootstrap\":{\"nodeid\":-1,\"state\":\"DOWN\"}}}");

	CHECK_EQ(f.broker_count, 1);
	CHECK_TEXT(f.brokers[0].name, "a:1/bootstrap");
	CHECK(!f.brokers[0].up);
}

static void what_is_no_object_changes_nothing(void **state)
{
	static const char *const wrong[] = { "", "{", "[]", "7", "{\"msg_cnt\":1" };
	struct wp_sink_figures f = read("{\"msg_cnt\":1}");

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		wp_statistics_read(wrong[i], strlen(wrong[i]), &f);
		CHECK(f.known);
		CHECK_EQ(f.messages, 1);
	}
}

static void wrong_values_are_nothing(void **state)
{
	struct wp_sink_figures f =
		read("{\"msg_cnt\":\"x\",\"tx\":-5,\"brokers\":[1],\"msg_size\":null}");

	CHECK(f.known);
	CHECK_EQ(f.messages, 0);
	CHECK_EQ(f.requests, 0);
	CHECK_EQ(f.broker_count, 0);
}

int main(void)
{
	return RUN(PLAIN(what_librdkafka_tells_is_read),
		   PLAIN(before_a_broker_is_known_the_configured_ones_are_told),
		   PLAIN(what_is_no_object_changes_nothing), PLAIN(wrong_values_are_nothing));
}
