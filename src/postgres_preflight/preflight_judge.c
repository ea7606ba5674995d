#include "preflight_judge.h"

#include <stdarg.h>
#include <stdio.h>

void wp_judge_begin(struct judge *j)
{
	wp_buffer_init(&j->cure_text, CURE_SIZE);
	wp_sql_init(&j->cure, j->pg, &j->cure_text);
}

void wp_judge_end(struct judge *j)
{
	wp_buffer_release(&j->cure_text);
}

/* Takes the statements collected in j->cure, and begins an empty collection for the next. */
static void take_cure(struct judge *j, struct wp_finding *f)
{
	struct wp_error error;
	if (j->cure_text.size > 0) {
		enum wp_rc rc = wp_sql_end(&j->cure, &error);
		(void)snprintf(f->cure, sizeof(f->cure), "%s",
			       rc == WP_OK ? (const char *)j->cure_text.data
					   : "-- walpost init --print-sql prints the statements");
	}
	size_t size = strlen(f->cure);
	while (size > 0 && f->cure[size - 1] == '\n')
		f->cure[--size] = '\0';
	wp_buffer_reset(&j->cure_text);
	wp_sql_init(&j->cure, j->pg, &j->cure_text);
}

void wp_finding_is_about(struct wp_finding *f, const struct wp_requirements_table *table)
{
	if (table->is_pattern)
		(void)snprintf(f->about, sizeof(f->about), "%s", table->written);
	else
		(void)snprintf(f->about, sizeof(f->about), "%s.%s", table->schema, table->name);
}

void wp_judge_found(struct judge *j, enum wp_finding_level level, enum wp_reaction reaction,
		    const char *name, const char *format, ...)
{
	va_list values;
	char text[2 * sizeof(((struct wp_finding *)0)->what)];
	/* The good news of each of a thousand outboxes would be megabytes. */
	if (level == WP_FINDING_OK && j->table && j->wanted->count > WP_PREFLIGHT_TABLES_IN_FULL)
		return;
	va_start(values, format);
	(void)vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	struct wp_finding *f = wp_findings_add(&j->ret->findings, level, j->room, name, text, "");
	f->table = (size_t)j->row;
	if (j->table)
		wp_finding_is_about(f, j->table);
	if (level == WP_FINDING_FAIL)
		f->reaction = reaction;
	take_cure(j, f);
}
