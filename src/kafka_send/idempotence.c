#include "idempotence.h"

#define DENIED_FIRST_MS 1000
#define DENIED_MAX_MS 8000

void wp_idempotence_granted(struct wp_idempotence *i)
{
	i->was_granted = true;
	i->is_denied = false;
	i->denials = 0;
}

int64_t wp_idempotence_denied(struct wp_idempotence *i, const char *principal, const char *text)
{
	int64_t wait_ms = DENIED_FIRST_MS;

	if (!i->was_granted)
		return 0;
	for (unsigned n = 0; n < i->denials && wait_ms < DENIED_MAX_MS; n++)
		wait_ms *= 2;
	i->is_denied = true;
	i->denials++;
	(void)wp_error_set(&i->error, WP_AGAIN,
			   "Kafka no longer allows %s to write with an idempotent producer "
			   "(%s); events wait; allow IDEMPOTENT_WRITE on the cluster (with Kafka "
			   "2.8 and newer, WRITE on a topic suffices): kafka-acls.sh --add "
			   "--cluster --operation IdempotentWrite --allow-principal %s",
			   principal[0] != '\0' ? principal : "this client", text,
			   principal[0] != '\0' ? principal : "User:NAME");
	return wait_ms;
}
