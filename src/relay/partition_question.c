#include "partition_question.h"

enum { AGAIN_MS = 1000, EVERY_MS = 20 };

void wp_partition_question_init(struct wp_partition_question *q)
{
	*q = (struct wp_partition_question){ .asked_ms = -AGAIN_MS };
}

static enum wp_partition_step ask_when_due(struct wp_partition_question *q, int64_t now_ms)
{
	if (now_ms < q->due_ms)
		return WP_PARTITIONS_AWAITED;
	q->due_ms = INT64_MAX;
	q->asked_ms = now_ms;
	return WP_PARTITIONS_ASK;
}

/*
 * A transaction that was just committed is not visible at once, and not for as long as it waits
 * for a synchronous standby: the same question again is asked ever more seldom.
 */
enum wp_partition_step wp_partition_question_open(struct wp_partition_question *q, uint32_t xid,
						  int64_t now_ms)
{
	q->wait_ms = q->xid != xid ? EVERY_MS : 2 * q->wait_ms;
	if (q->wait_ms > AGAIN_MS)
		q->wait_ms = AGAIN_MS;
	q->xid = xid;
	q->open = true;
	q->due_ms = q->asked_ms + q->wait_ms;
	return ask_when_due(q, now_ms);
}

enum wp_partition_step wp_partition_question_step(struct wp_partition_question *q,
						  enum wp_asked asked, int64_t now_ms)
{
	if (!q->open)
		return WP_PARTITIONS_KNOWN;
	if (q->due_ms != INT64_MAX)
		return ask_when_due(q, now_ms);
	if (asked == WP_ASKED_FAILED) {
		q->due_ms = now_ms + AGAIN_MS;
		return WP_PARTITIONS_UNKNOWN;
	}
	if (asked == WP_ASKED_ANSWERED)
		q->open = false; /* the row asks again if that was not enough */
	return q->open ? WP_PARTITIONS_AWAITED : WP_PARTITIONS_KNOWN;
}
