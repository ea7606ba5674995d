#include "parked_puts.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROWS_MAX = 256,			 /* of one statement */
	ROWS_SIZE_MAX = 4 * 1024 * 1024, /* likewise; one row may be larger */
};

static struct wp_parked_put *put_at(struct wp_parked_puts *p, size_t index)
{
	return &p->ring[(p->first + index) % WP_PARKED_PUT_MAX];
}

static const struct wp_parked_put *next_at(const struct wp_parked_puts *p, size_t index)
{
	return &p->ring[(p->first + p->committed + index) % WP_PARKED_PUT_MAX];
}

static void forget_text(struct wp_parked_puts *p, struct wp_parked_put *put)
{
	if (put->text)
		p->size -= put->size;
	free(put->text);
	put->text = NULL;
}

enum wp_rc wp_parked_puts_add(struct wp_parked_puts *p, uint64_t ticket, struct wp_span row)
{
	if (p->count == WP_PARKED_PUT_MAX ||
	    (p->size > 0 && p->size + row.size > WP_PARKED_PUT_SIZE_MAX))
		return WP_FULL;
	char *text = malloc(row.size + 3);
	if (!text)
		return WP_NOMEM;
	text[0] = '[';
	memcpy(text + 1, row.data, row.size);
	memcpy(text + 1 + row.size, "]", 2);
	*put_at(p, p->count++) =
		(struct wp_parked_put){ .ticket = ticket, .text = text, .size = row.size };
	p->size += row.size;
	return WP_OK;
}

void wp_parked_puts_clear(struct wp_parked_puts *p)
{
	for (size_t i = 0; i < p->count; i++)
		forget_text(p, put_at(p, i));
	p->first = p->count = p->durable = p->committed = p->sent = p->singly = 0;
}

const struct wp_parked_put *wp_parked_puts_next(const struct wp_parked_puts *p)
{
	return next_at(p, 0);
}

size_t wp_parked_puts_batch(const struct wp_parked_puts *p)
{
	size_t size = 0, count = 0;
	size_t max = p->singly > 0 ? 1 : ROWS_MAX;
	for (; count < max && p->committed + count < p->count; count++) {
		size += next_at(p, count)->size;
		if (count > 0 && size > ROWS_SIZE_MAX)
			break;
	}
	return count;
}

enum wp_rc wp_parked_puts_json(const struct wp_parked_puts *p, size_t count, struct wp_buffer *into)
{
	struct wp_writer w = { .into = into };
	for (size_t i = 0; i < count; i++) {
		const struct wp_parked_put *put = next_at(p, i);
		struct wp_span row = { (const uint8_t *)put->text + 1, put->size };
		wp_writer_put(&w, i > 0 ? "," : "[");
		if (w.rc == WP_OK)
			wp_writer_keep(&w, wp_buffer_append(into, row));
	}
	wp_writer_put(&w, "]");
	return w.rc == WP_OK ? wp_buffer_append_byte(into, 0) : w.rc;
}

void wp_parked_puts_sent(struct wp_parked_puts *p, size_t count)
{
	p->sent = p->committed + count;
}

void wp_parked_puts_unsent(struct wp_parked_puts *p)
{
	p->sent = p->committed;
}

bool wp_parked_puts_divide(struct wp_parked_puts *p)
{
	size_t count = p->sent - p->committed;
	wp_parked_puts_unsent(p);
	if (count <= 1)
		return false;
	p->singly = count;
	return true;
}

size_t wp_parked_puts_committed(struct wp_parked_puts *p)
{
	size_t count = p->sent - p->committed;
	p->committed = p->sent;
	p->singly -= count < p->singly ? count : p->singly;
	return count;
}

void wp_parked_puts_durable(struct wp_parked_puts *p, size_t count)
{
	for (size_t i = 0; i < count; i++)
		forget_text(p, put_at(p, p->durable + i));
	p->durable += count;
}

void wp_parked_puts_uncommitted(struct wp_parked_puts *p)
{
	p->committed = p->sent = p->durable;
}

size_t wp_parked_puts_collect(struct wp_parked_puts *p, uint64_t *tickets, size_t max)
{
	size_t count = p->durable < max ? p->durable : max;
	for (size_t i = 0; i < count; i++)
		tickets[i] = put_at(p, i)->ticket;
	p->first = (p->first + count) % WP_PARKED_PUT_MAX;
	p->count -= count;
	p->durable -= count;
	p->committed -= count;
	p->sent -= count;
	return count;
}
