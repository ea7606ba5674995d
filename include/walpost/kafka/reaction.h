/* One table: what a librdkafka error code calls for. Pure. */
#ifndef WALPOST_KAFKA_REACTION_H
#define WALPOST_KAFKA_REACTION_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

#include "walpost/base/rc.h"

/* For a delivery report with this error. Codes not in the table: WP_REACT_REWIND. */
enum wp_reaction wp_kafka_reaction(rd_kafka_resp_err_t code);
/* The closed list of codes that one event alone can cause. */
bool wp_kafka_is_event_level(rd_kafka_resp_err_t code);
/* What to change on the topic, for such a code; NULL: nothing is known. Constant text. */
const char *wp_kafka_cure(rd_kafka_resp_err_t code);

#endif
