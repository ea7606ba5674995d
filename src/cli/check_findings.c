/* Adds findings of `walpost check`, with the SQL that cures them, and asks its questions. */
#include "check.h"

#include <string.h>

#include "walpost/cli/outbox.h"
#include "walpost/login/login.h"

void wp_check_add(struct wp_check *c, enum wp_rc rc, enum wp_finding_room room, const char *name,
		  const char *fine, const struct wp_error *error, const char *cure)
{
	if (rc == WP_OK)
		wp_findings_add(&c->found.findings, WP_FINDING_OK, room, name, fine, "");
	else
		wp_findings_add(&c->found.findings, WP_FINDING_FAIL, room, name, error->text, cure);
}

bool wp_check_is_fine(const struct wp_check *c, const char *name)
{
	const struct wp_findings *f = &c->found.findings;
	bool is_there = false;
	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->items[i].name, name) != 0)
			continue;
		if (f->items[i].level != WP_FINDING_OK)
			return false;
		is_there = true;
	}
	return is_there;
}

void wp_check_add_grants(struct wp_check *c, struct wp_session *session,
			 enum wp_finding_level level, const char *name, const struct wp_error *what,
			 enum wp_grants which, const char *role)
{
	struct wp_error error;
	struct wp_buffer cure;
	struct wp_sql sql;

	wp_buffer_init(&cure, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(session), &cure);
	wp_grants_sql(&sql, which, role);
	enum wp_rc rc = wp_sql_end(&sql, &error);
	wp_findings_add(&c->found.findings, level, WP_ROOM_SLOT, name, what->text,
			rc == WP_OK ? (const char *)cure.data : "");
	wp_buffer_release(&cure);
}

enum wp_rc wp_check_ask(struct wp_check *c, struct wp_session *session,
			void (*write)(struct wp_sql *sql, const struct wp_check *c), PGresult **ret,
			struct wp_error *error)
{
	struct wp_statement statement;
	/* What is locked stays so for the questions that follow. */
	if (*session->locked.text != '\0')
		return wp_error_set(error, WP_IO, "%s", session->locked.text);
	wp_statement_begin(&statement, session);
	write(&statement.sql, c);
	return wp_statement_ask(&statement, ret, error);
}

void wp_check_login(struct wp_check *c, struct wp_login *login, enum wp_finding_room room)
{
	struct wp_error words, what;

	/* If no secret came, the connection says why. */
	if (login == NULL || !wp_login_describe(login, &words))
		return;
	(void)wp_error_set(&what, WP_OK, "%s %s",
			   room == WP_ROOM_KAFKA ? "the token came" : "the password came",
			   words.text);
	(void)wp_findings_add(&c->found.findings, WP_FINDING_OK, room, "login", what.text, "");
}
