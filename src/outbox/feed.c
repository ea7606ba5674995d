#include <stdlib.h>

#include "walpost/base/display.h"
#include "walpost/outbox/decoder.h"
#include "walpost/outbox/drop.h"
#include "walpost/outbox/feed.h"
#include "walpost/outbox/shape.h"

#define TEXTS_SIZE_MAX ((size_t)INT32_MAX) /* a guard: Postgres sends no more in a row */

struct wp_feed {
	enum wp_transfer transfer;
	struct wp_decoder *decoder; /* owned */
};

enum wp_rc wp_feed_new(const struct wp_feed_setup *setup, struct wp_feed **ret,
		       struct wp_error *error)
{
	const struct wp_decoder_setup decoder = {
		.outboxes = setup->outboxes,
		.epoch = setup->epoch,
		.record_max = setup->record_max,
		.texts_max = TEXTS_SIZE_MAX,
		.columns = WP_COLUMNS_KNOWN,
		.partitions = setup->partitions,
	};
	struct wp_feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for reading events");
	f->transfer = setup->transfer;
	enum wp_rc rc = wp_decoder_new(&decoder, &f->decoder, error);
	if (rc == WP_OK)
		wp_decoder_begin(f->decoder, setup->timelines, setup->encoding);
	if (rc == WP_OK && wp_feed_know(f, setup->columns) != WP_OK)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for column types");
	if (rc != WP_OK) {
		wp_feed_free(f);
		return rc;
	}
	*ret = f;
	return WP_OK;
}

enum wp_rc wp_feed_know(struct wp_feed *f, const struct wp_column_facts *columns)
{
	return wp_decoder_know(f->decoder, columns, f->transfer);
}

bool wp_feed_wants_facts(const struct wp_feed *f)
{
	return wp_decoder_wants_facts(f->decoder);
}

void wp_feed_free(struct wp_feed *f)
{
	if (f == NULL)
		return;
	wp_decoder_free(f->decoder);
	free(f);
}

/* The reason of a verdict is in `ret` already. */
static enum wp_rc make_record(const struct wp_decoded *decoded, struct wp_fed *ret)
{
	bool is_whole = decoded->verdict == WP_OK;
	struct wp_error error;
	enum wp_rc rc =
		wp_shape_record(decoded->outbox->shape, decoded->event, &ret->record, &error);

	if (rc != WP_OK && (is_whole || rc != WP_DATA))
		ret->error = error;
	if (rc != WP_OK && rc != WP_DATA)
		return rc;
	ret->kind = is_whole && rc == WP_OK ? WP_FED_RECORD : WP_FED_POISON;
	return WP_OK;
}

static enum wp_rc feed_event(const struct wp_decoded *decoded, int64_t now_us, struct wp_fed *ret)
{
	struct wp_error unread;
	struct wp_excerpt shown;
	enum wp_drop drop;
	enum wp_rc rc = wp_drop_judge(decoded->outbox->options, decoded->event,
				      decoded->verdict != WP_OK, now_us, &drop, &unread);

	if (rc == WP_OK && drop == WP_DROP_NOT)
		return make_record(decoded, ret);
	ret->kind = rc == WP_OK ? WP_FED_NOTE : WP_FED_POISON;
	if (rc != WP_OK)
		(void)wp_error_set(&ret->error, rc, "%s", unread.text);
	else if (drop == WP_DROP_TYPE)
		(void)wp_error_set(&ret->error, WP_OK,
				   "an event is not sent: its type %s is under outbox.skip.types",
				   wp_excerpt(&shown, decoded->event->type));
	else
		(void)wp_error_set(&ret->error, WP_OK,
				   "an event is not sent to its topic: it expired at %s "
				   "(outbox.column.expires)",
				   wp_excerpt(&shown, decoded->event->expires));
	return WP_OK;
}

static enum wp_rc feed(const struct wp_decoded *decoded, int64_t now_us, struct wp_fed *ret)
{
	const struct wp_outbox *outbox = decoded->outbox;

	switch (decoded->kind) {
	case WP_DECODED_EVENT:
		return feed_event(decoded, now_us, ret);
	case WP_DECODED_FOREIGN:
		ret->kind = WP_FED_NOTE;
		break;
	case WP_DECODED_UPDATE:
		ret->kind = WP_FED_NOTE;
		if (decoded->verdict == WP_OK)
			(void)wp_error_set(&ret->error, WP_OK,
					   "a row of outbox table %s was updated, which is not an "
					   "event: insert a new row instead",
					   outbox->options->table);
		break;
	case WP_DECODED_MESSAGE_REFUSED:
		ret->kind = WP_FED_NOTE;
		(void)wp_error_set(
			&ret->error, WP_OK,
			"a message of prefix %s came that is not transactional: a relay "
			"passes it over; emit it with pg_logical_emit_message(true, ...)",
			outbox->options->message_prefix);
		break;
	case WP_DECODED_REISSUE_REFUSED:
		ret->kind = WP_FED_NOTE; /* the error says why */
		break;
	default:
		break;
	}
	return WP_OK;
}

enum wp_rc wp_feed_take(struct wp_feed *f, struct wp_span message, int64_t now_us,
			struct wp_fed *ret, struct wp_error *error)
{
	struct wp_decoded decoded;

	ret->kind = WP_FED_NOTHING;
	ret->error.text[0] = '\0';
	enum wp_rc rc = wp_decoder_take(f->decoder, message, &decoded, &ret->error);
	if (rc == WP_OK)
		rc = feed(&decoded, now_us, ret);
	return rc == WP_OK ? WP_OK : wp_error_set(error, rc, "%s", ret->error.text);
}
