/* SPDX-License-Identifier: MIT
 *
 * Waits for states of the crew, and compares the records of its members; see
 * ring_crew.h.
 */
#include "ring_crew.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const uint64_t patience_ns = 15000000000;

/* ---- waiting ---- */

/* The state of each member, and the error of the controller if there is one. */
static void tell_all(struct crew *crew, char *text, size_t room)
{
    struct gw_error why = {0};
    gw__session_lock(&crew->supervisor);
    const struct gw__membership_update *update = &crew->supervisor.update;
    size_t used = (size_t)snprintf(
        text, room, " epoch %" PRIu64 ", %u members, %u joiners%s;",
        update->view.epoch, update->view.ring_count, update->joiner_count,
        update->flushing ? ", flushing" : "");
    gw__session_unlock(&crew->supervisor);
    for (unsigned i = 0; i < crew->plan.seats && used < room; i++) {
        struct crew_seat *seat = crew_seat(crew, i);
        used += (size_t)snprintf(
            text + used, room - used, " %u: state %d op %" PRIu64 " %s;", i,
            atomic_load(&seat->state), atomic_load(&seat->op), seat->text);
    }
    if (used < room && (gw__controller_error(crew->controller, &why) ||
                        gw__driver_error(crew->supervisor.driver, &why)))
        snprintf(text + used, room - used, " %s", why.text);
}

static void check_members(const struct crew *crew)
{
    for (unsigned i = 0; i < crew->plan.seats; i++)
        if (crew->pids[i] > 0 &&
            atomic_load(&crew_seat(crew, i)->state) == CREW_FAILED)
            ck_abort_msg("node %u: %s; seed %" PRIu64, i,
                         crew_seat(crew, i)->text, crew->seed);
}

/* Fails the test when it takes too long, or a member has failed. */
static void wait_more(struct crew *crew, uint64_t begin_ns, const char *what)
{
    static const struct timespec nap = {.tv_nsec = 200000};
    char text[2048];
    check_members(crew);
    if (gw_now_ns() - begin_ns > patience_ns) {
        tell_all(crew, text, sizeof text);
        ck_abort_msg("waited too long for %s:%s seed %" PRIu64, what, text,
                     crew->seed);
    }
    nanosleep(&nap, NULL);
}

/* Fails if no op is done during the whole of that time. */
void crew_await_ops(struct crew *crew, unsigned seat, uint64_t ops)
{
    uint64_t begin_ns = gw_now_ns(), before = 0, now;
    while ((now = atomic_load(&crew_seat(crew, seat)->ops)) < ops) {
        if (now > before)
            begin_ns = gw_now_ns();
        before = now;
        wait_more(crew, begin_ns, "ops");
    }
}

void crew_await_all(struct crew *crew, uint64_t ops)
{
    for (unsigned i = 0; i < crew->plan.seats; i++)
        if (crew_lives(crew, i))
            crew_await_ops(crew, i, ops);
}

void crew_await_state(struct crew *crew, unsigned seat, enum crew_state state)
{
    uint64_t begin_ns = gw_now_ns(), before = 0, now;
    while (atomic_load(&crew_seat(crew, seat)->state) != (int)state) {
        now = atomic_load(&crew_seat(crew, seat)->ops);
        if (now > before)
            begin_ns = gw_now_ns();
        before = now;
        wait_more(crew, begin_ns, "a member's state");
    }
}

void crew_await_size(struct crew *crew, unsigned members)
{
    uint64_t begin_ns = gw_now_ns();
    for (;;) {
        gw__session_lock(&crew->supervisor);
        unsigned count = crew->supervisor.update.view.ring_count;
        gw__session_unlock(&crew->supervisor);
        if (count == members)
            return;
        wait_more(crew, begin_ns, "a view of another size");
    }
}

uint64_t crew_await_epoch(struct crew *crew, uint64_t epoch)
{
    uint64_t begin_ns = gw_now_ns(), last_ns = 0;
    for (unsigned i = 0; i < crew->plan.seats; i++) {
        struct crew_seat *seat = crew_seat(crew, i);
        while (crew_lives(crew, i) && atomic_load(&seat->epoch) <= epoch)
            wait_more(crew, begin_ns, "results of a later epoch");
        uint64_t ns = atomic_load(&seat->epoch_ns);
        if (crew_lives(crew, i) && ns > last_ns)
            last_ns = ns;
    }
    return last_ns;
}

/* ---- the end ---- */

/* Records of an op that both members took part in must be equal. */
static void compare(const struct crew *crew, unsigned a, unsigned b)
{
    const struct crew_seat *x = crew_seat(crew, a), *y = crew_seat(crew, b);
    uint64_t first = x->first_op > y->first_op ? x->first_op : y->first_op;
    if (first + CREW_OPS < x->status.op)
        first = x->status.op - CREW_OPS;
    for (uint64_t op = first; op + 1 < x->status.op; op++) {
        const struct crew_record *p = &x->records[op % CREW_OPS];
        const struct crew_record *q = &y->records[op % CREW_OPS];
        ck_assert_msg(p->contributors == q->contributors &&
                          p->digest == q->digest,
                      "op %" PRIu64 ": node %u has %" PRIx64
                      ", node %u has %" PRIx64 "; seed %" PRIu64,
                      op, a, p->contributors, b, q->contributors, crew->seed);
    }
}

void ring_crew_end(struct crew *crew)
{
    int first = -1;
    atomic_store(&crew->shared->wants_end, true);
    for (unsigned i = 0; i < crew->plan.seats; i++) {
        if (!crew_lives(crew, i))
            continue;
        crew_await_state(crew, i, CREW_DONE);
        const struct gw_ring_status *s = &crew_seat(crew, i)->status;
        ck_assert_uint_eq(s->lost, 0);
        ck_assert_uint_eq(s->doubled, 0);
        if (first < 0)
            first = (int)i;
        ck_assert_uint_eq(s->op, crew_seat(crew, (unsigned)first)->status.op);
        ck_assert_uint_eq(s->digest,
                          crew_seat(crew, (unsigned)first)->status.digest);
        if (!crew->plan.turn)
            compare(crew, (unsigned)first, i);
    }
    ck_assert_int_ge(first, 0);
    atomic_store(&crew->shared->released, true);
}
