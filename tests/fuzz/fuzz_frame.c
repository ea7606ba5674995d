/* Any bytes as a CopyData payload, as an LSN and as a timeline's history. */
#include <string.h>

#include "fuzz.h"
#include "walpost/wal/frame.h"
#include "walpost/wal/timeline.h"

static void read_frame(struct wp_span bytes)
{
	struct wp_frame frame;
	struct wp_error error = { "" };

	if (wp_frame_read(bytes, &frame, &error) != WP_OK) {
		NEED(error.text[0] != '\0');
		return;
	}
	if (frame.kind == WP_FRAME_DATA) {
		NEED(bytes.data[0] == 'w');
		NEED(frame.body.data == bytes.data + 25);
		NEED(frame.body.size == bytes.size - 25);
	} else {
		NEED(bytes.data[0] == 'k');
		NEED(bytes.size == 18);
		NEED(wp_span_is_null(frame.body));
	}
}

static void read_lsn(struct wp_span bytes)
{
	char text[WP_LSN_TEXT_SIZE];
	wp_lsn lsn, again;

	if (wp_lsn_parse(bytes, &lsn) != WP_OK)
		return;
	NEED(wp_lsn_parse(wp_span_of(wp_lsn_text(lsn, text)), &again) == WP_OK);
	NEED(again == lsn);
}

static void read_history(struct wp_span bytes)
{
	static struct wp_timelines t;
	uint32_t before = 0;

	if (wp_timelines_read(&t, UINT32_MAX, bytes, NULL) != WP_OK)
		return;
	NEED(t.count <= WP_TIMELINES_MAX);
	for (size_t i = 0; i < t.count; i++) {
		uint32_t timeline = wp_timelines_at(&t, t.past[i].ends_at);
		NEED(timeline > t.past[i].timeline);
		NEED(timeline >= before);
		before = timeline;
	}
	NEED(wp_timelines_at(&t, UINT64_MAX) == UINT32_MAX ||
	     t.past[t.count - 1].ends_at == UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_span bytes = { .data = data, .size = size };

	read_frame(bytes);
	read_lsn(bytes);
	read_history(bytes);
	return 0;
}
