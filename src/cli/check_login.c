/* `walpost check`: with which secret a client came, where that is fetched and expires. */
#include "check.h"
#include "walpost/login/login.h"

void wp_check_login(struct wp_check *c, struct wp_login *login, enum wp_finding_room room)
{
	struct wp_error words, what;

	/* Where none came, the connection says why. */
	if (login == NULL || !wp_login_describe(login, &words))
		return;
	(void)wp_error_set(&what, WP_OK, "%s %s",
			   room == WP_ROOM_KAFKA ? "the token came" : "the password came",
			   words.text);
	(void)wp_findings_add(&c->found.findings, WP_FINDING_OK, room, "login", what.text, "");
}
