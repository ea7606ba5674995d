#include <string.h>

#include "walpost/wal/column_facts.h"

void wp_column_facts_begin(struct wp_column_facts *f)
{
	f->count = 0;
	f->type_count = 0;
	f->unlabelled = 0;
	f->labels[0] = '\0';
	f->labels_size = 1;
}

void wp_column_facts_copy(struct wp_column_facts *to, const struct wp_column_facts *from)
{
	memcpy(to->items, from->items, from->count * sizeof(from->items[0]));
	to->count = from->count;
	memcpy(to->types, from->types, from->type_count * sizeof(from->types[0]));
	to->type_count = from->type_count;
	to->unlabelled = from->unlabelled;
	memcpy(to->labels, from->labels, from->labels_size);
	to->labels_size = from->labels_size;
}

/* Returns 0 when they are not known, or find no room. */
static size_t add_labels(struct wp_column_facts *f, const char *labels)
{
	size_t size = labels == NULL ? 0 : strlen(labels) + 1;
	size_t at = f->labels_size;

	if (size == 0 || size > WP_TYPE_LABELS_SIZE - at)
		return 0;
	memcpy(f->labels + at, labels, size);
	f->labels_size += size;
	return at;
}

/* Returns the size of 'text', to where it ends; 0: it does not. */
static size_t literal_size(const char *literal)
{
	const char *at = literal + 1;

	while (*at != '\0' && (at[0] != '\'' || at[1] == '\''))
		at += *at == '\'' ? 2 : 1;
	return *at == '\0' ? 0 : (size_t)(at - literal) + 1;
}

/* Is it a cast, or casts? There is no operator, and nothing else in quotes. */
static bool is_cast(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_ .,:()[]\"";

	return text[0] == '\0' ||
	       (strncmp(text, "::", 2) == 0 && text[strspn(text, plain)] == '\0');
}

static bool is_bare(const char *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
	       (text[0] != '\0' && text[strspn(text, "0123456789.+-eE")] == '\0' &&
		strpbrk(text, "0123456789") != NULL);
}

/*
 * A constant is as pg_get_expr() writes it: 7, true, 'text'::type with '' for a quote, E'text' with
 * backslashes as they stand, of which Debezium takes no notice. 0: it is none, or without room.
 */
static size_t add_constant(struct wp_column_facts *f, const char *expression)
{
	const char *literal = expression[0] == 'E' ? expression + 1 : expression;
	size_t size = literal[0] == '\'' ? literal_size(literal) : 0;
	size_t at = f->labels_size;

	if (literal[0] != '\'')
		return is_bare(expression) ? add_labels(f, expression) : 0;
	if (size == 0 || !is_cast(literal + size) || size > WP_TYPE_LABELS_SIZE - at)
		return 0;
	for (const char *from = literal + 1; from < literal + size - 1; from++) {
		f->labels[f->labels_size++] = *from;
		from += *from == '\'';
	}
	f->labels[f->labels_size++] = '\0';
	return at;
}

void wp_column_facts_add(struct wp_column_facts *f, const struct wp_column_fact *fact,
			 const char *expression)
{
	if (f->count == WP_COLUMN_FACTS_MAX)
		return;
	f->items[f->count] = *fact;
	f->items[f->count++].constant_at = expression == NULL ? 0 : add_constant(f, expression);
}

const char *wp_column_facts_constant(const struct wp_column_facts *f,
				     const struct wp_column_fact *fact)
{
	return fact->constant_at == 0 ? NULL : f->labels + fact->constant_at;
}

/* Returns where the oid is among them, or where it would be. */
static size_t type_fact_place(const struct wp_column_facts *f, uint32_t oid)
{
	size_t low = 0;
	size_t high = f->type_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (f->types[middle].oid < oid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool wp_column_facts_add_type(struct wp_column_facts *f, const struct wp_type_fact *fact,
			      const char *labels)
{
	size_t at = type_fact_place(f, fact->oid);

	if (f->type_count == WP_TYPE_FACTS_MAX)
		return false;
	memmove(f->types + at + 1, f->types + at, (f->type_count - at) * sizeof(f->types[0]));
	f->type_count++;
	f->types[at] = *fact;
	f->types[at].labels_at = add_labels(f, labels);
	return labels == NULL || f->types[at].labels_at != 0;
}

const struct wp_column_fact *wp_column_facts_find(const struct wp_column_facts *f, size_t table,
						  struct wp_span name)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->items[i].table == table && wp_span_is(name, f->items[i].name))
			return &f->items[i];
	}
	return NULL;
}

const struct wp_type_fact *wp_column_facts_type(const struct wp_column_facts *f, uint32_t oid)
{
	size_t at = type_fact_place(f, oid);

	return at < f->type_count && f->types[at].oid == oid ? &f->types[at] : NULL;
}

const char *wp_column_facts_labels(const struct wp_column_facts *f, const struct wp_type_fact *fact)
{
	return fact->labels_at == 0 ? NULL : f->labels + fact->labels_at;
}
