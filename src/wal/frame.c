#include "walpost/wal/frame.h"

#include "walpost/base/wire.h"

/*
 *   'w'    Int64 start  Int64 end      Int64 sent_at  Byte(n) body
 *   'k'    Int64 end    Int64 sent_at  Byte reply_requested
 */
enum wp_rc wp_frame_read(struct wp_span copy_data, struct wp_frame *ret, struct wp_error *error)
{
	struct wp_frame frame = { 0 };
	struct wp_wire w;

	wp_wire_init(&w, copy_data);
	uint8_t kind = wp_wire_u8(&w);
	if (w.bad)
		return wp_error_set(error, WP_PROTO, "the server sent an empty replication frame");
	if (kind == 'w') {
		frame.kind = WP_FRAME_DATA;
		frame.start = wp_wire_u64(&w);
		frame.end = wp_wire_u64(&w);
		frame.sent_at_us = (int64_t)wp_wire_u64(&w);
		frame.body = wp_wire_bytes(&w, w.left);
	} else if (kind == 'k') {
		frame.kind = WP_FRAME_KEEPALIVE;
		frame.end = wp_wire_u64(&w);
		frame.sent_at_us = (int64_t)wp_wire_u64(&w);
		frame.reply_requested = wp_wire_u8(&w) != 0;
	} else
		return wp_error_set(error, WP_PROTO,
				    "the server sent a replication frame of unknown kind 0x%02X",
				    kind);
	if (wp_wire_end(&w) != WP_OK)
		return wp_error_set(error, WP_PROTO,
				    "the server sent a replication frame '%c' with an invalid size "
				    "of %zu bytes",
				    kind, copy_data.size);
	*ret = frame;
	return WP_OK;
}

/*   'r'    Int64 write  Int64 flush  Int64 apply  Int64 now  Byte reply_requested */
void wp_status_write(const struct wp_status *status, uint8_t bytes[WP_STATUS_SIZE])
{
	bytes[0] = 'r';
	wp_wire_put_u64(bytes + 1, status->write);
	wp_wire_put_u64(bytes + 9, status->flush);
	wp_wire_put_u64(bytes + 17, status->apply);
	wp_wire_put_u64(bytes + 25, (uint64_t)status->now_us);
	bytes[33] = status->reply_requested;
}
