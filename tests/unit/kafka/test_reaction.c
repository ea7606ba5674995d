#include "support/check.h"
#include "walpost/kafka/reaction.h"

static void sizes_records_and_timestamps_call_for_isolation(void **state)
{
	static const rd_kafka_resp_err_t codes[] = {
		RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
		RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
		RD_KAFKA_RESP_ERR_INVALID_RECORD,
		RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		CHECK_EQ(wp_kafka_reaction(codes[i]), WP_REACT_ISOLATE);
		CHECK(wp_kafka_is_event_level(codes[i]));
		CHECK_HAS(wp_kafka_cure(codes[i]), "of the topic");
	}
	CHECK(wp_kafka_cure(RD_KAFKA_RESP_ERR__FATAL) == NULL);
	CHECK(wp_kafka_cure((rd_kafka_resp_err_t)12345) == NULL);
}

static void missing_and_forbidden_topics_wait_and_are_never_poison(void **state)
{
	static const rd_kafka_resp_err_t codes[] = {
		RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
		RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
		RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
		RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
		RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
		RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		CHECK_EQ(wp_kafka_reaction(codes[i]), WP_REACT_WAIT_TOPIC);
		CHECK(!wp_kafka_is_event_level(codes[i]));
	}
}

static void fatal_and_sequence_errors_rewind(void **state)
{
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR__FATAL), WP_REACT_REWIND);
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE), WP_REACT_REWIND);
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER),
		 WP_REACT_REWIND);
}

static void an_unlisted_code_rewinds_and_is_not_poison(void **state)
{
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR_POLICY_VIOLATION), WP_REACT_REWIND);
	CHECK_EQ(wp_kafka_reaction((rd_kafka_resp_err_t)12345), WP_REACT_REWIND);
	CHECK(!wp_kafka_is_event_level((rd_kafka_resp_err_t)12345));
}

static void a_purge_and_a_success_call_for_nothing(void **state)
{
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR_NO_ERROR), WP_REACT_NONE);
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR__PURGE_QUEUE), WP_REACT_NONE);
	CHECK_EQ(wp_kafka_reaction(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT), WP_REACT_NONE);
}

int main(void)
{
	return RUN(PLAIN(sizes_records_and_timestamps_call_for_isolation),
		   PLAIN(missing_and_forbidden_topics_wait_and_are_never_poison),
		   PLAIN(fatal_and_sequence_errors_rewind),
		   PLAIN(an_unlisted_code_rewinds_and_is_not_poison),
		   PLAIN(a_purge_and_a_success_call_for_nothing));
}
