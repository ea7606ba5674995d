/* `walpost check` tells which secret a client used, where it is fetched, and when it expires. */
#include "check.h"
#include "walpost/login/login.h"

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
