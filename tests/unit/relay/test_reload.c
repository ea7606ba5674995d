#include "reload.h"
#include "support/check.h"

static const struct wp_outboxes a, b, c;

static struct wp_reload r;

static struct wp_relay_task task(const struct wp_outboxes *outboxes)
{
	return (struct wp_relay_task){ .outboxes = outboxes };
}

static void change_to(const struct wp_outboxes *outboxes, uint64_t transactions)
{
	struct wp_relay_task before = r.now;
	struct wp_relay_task now = task(outboxes);

	wp_reload_put(&r, &now);
	wp_reload_changed(&r, &before, transactions);
}

static int set_up(void **state)
{
	struct wp_relay_task first = task(&a);

	r = (struct wp_reload){ 0 };
	wp_reload_put(&r, &first);
	return 0;
}

static void at_first_there_is_none_to_go_back_to(void **state)
{
	struct wp_relay_task before;

	CHECK(!wp_reload_waits(&r));
	CHECK(!wp_reload_may_be_refused(&r));
	CHECK(!wp_reload_take_before(&r, &before));
}

static void the_one_before_is_there_until_a_transaction_came(void **state)
{
	change_to(&b, 5);
	CHECK(wp_reload_uses(&r, &a));
	wp_reload_step(&r, 5);
	CHECK(wp_reload_may_be_refused(&r));
	wp_reload_step(&r, 6);
	CHECK(!wp_reload_may_be_refused(&r));
	CHECK(!wp_reload_uses(&r, &a));
	CHECK(wp_reload_uses(&r, &b));
}

static void what_the_server_accepted_only_rows_can_refuse(void **state)
{
	struct wp_relay_task before;

	change_to(&b, 5);
	r.accepted = true;
	CHECK(!wp_reload_may_be_refused(&r));
	CHECK(wp_reload_take_before(&r, &before));
	CHECK(before.outboxes == &a);
	CHECK(!wp_reload_take_before(&r, &before));
}

static void one_that_was_never_accepted_is_none_to_go_back_to(void **state)
{
	change_to(&b, 5);
	change_to(&c, 5);
	CHECK(r.before.outboxes == &a);
	r.accepted = true;
	change_to(&b, 5);
	CHECK(r.before.outboxes == &c);
}

static void types_are_asked_for_anew_once_at_each_place(void **state)
{
	CHECK(wp_reload_asks_anew(&r, 100));
	CHECK(!wp_reload_asks_anew(&r, 100));
	CHECK(wp_reload_asks_anew(&r, 200));
	change_to(&b, 0);
	CHECK(wp_reload_asks_anew(&r, 200));
}

int main(void)
{
	return RUN(FRESH(at_first_there_is_none_to_go_back_to),
		   FRESH(the_one_before_is_there_until_a_transaction_came),
		   FRESH(what_the_server_accepted_only_rows_can_refuse),
		   FRESH(one_that_was_never_accepted_is_none_to_go_back_to),
		   FRESH(types_are_asked_for_anew_once_at_each_place));
}
