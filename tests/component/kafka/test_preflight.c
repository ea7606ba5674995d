#include <string.h>

#include "support/check.h"
#include "walpost/kafka/preflight.h"
#include "world.h"

static struct world w;
static struct wp_why sentence, why;

static int one_broker(void **state)
{
	(void)state;
	world_init(&w, 3);
	sentence.text[0] = why.text[0] = '\0';
	return 0;
}

static int release(void **state)
{
	(void)state;
	world_release(&w);
	return 0;
}

static void brokers_that_answer_are_counted(void **state)
{
	(void)state;
	CHECK_EQ(wp_kafka_check(&w.options, 10000, &sentence, &why), WP_OK);
	CHECK_HAS(sentence.text, "reached 3 brokers of Kafka cluster");
	CHECK_TEXT(why.text, "");
}

static void nobody_there_is_io_with_the_address_and_within_the_time(void **state)
{
	(void)state;
	world_down(&w);
	int64_t before = world_clock_ms();
	CHECK_EQ(wp_kafka_check(&w.options, 1500, &sentence, &why), WP_IO);
	CHECK(world_clock_ms() - before < 6000);
	CHECK_HAS(why.text, "no Kafka broker answers");
	CHECK_HAS(why.text, "Connection refused");
	CHECK_TEXT(sentence.text, "");
}

static void wrong_credentials_are_told_at_once(void **state)
{
	(void)state;
	world_property(&w, "security.protocol", "sasl_plaintext");
	world_property(&w, "sasl.mechanism", "PLAIN");
	world_property(&w, "sasl.username", "me");
	world_property(&w, "sasl.password", "hunter2");
	int64_t before = world_clock_ms();
	CHECK_EQ(wp_kafka_check(&w.options, 20000, &sentence, &why), WP_CONFIG);
	CHECK(world_clock_ms() - before < 10000);
	CHECK_HAS(why.text, "does not let us in");
	CHECK(strstr(why.text, "hunter2") == NULL);
}

static void a_wrong_property_is_told_with_its_place(void **state)
{
	(void)state;
	world_property(&w, "acks", "1");
	CHECK_EQ(wp_kafka_check(&w.options, 1000, &sentence, &why), WP_CONFIG);
	CHECK_HAS(why.text, "acks = 1 (the test) is refused");
	w.options.property_count--;
	world_property(&w, "max.in.flight", "6");
	CHECK_EQ(wp_kafka_check(&w.options, 1000, &sentence, &why), WP_CONFIG);
	CHECK_HAS(why.text, "max.in.flight");
}

int main(void)
{
#define TEST(test_) cmocka_unit_test_setup_teardown(test_, one_broker, release)
	const struct CMUnitTest tests[] = {
		TEST(brokers_that_answer_are_counted),
		TEST(nobody_there_is_io_with_the_address_and_within_the_time),
		TEST(wrong_credentials_are_told_at_once),
		TEST(a_wrong_property_is_told_with_its_place),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
