/* SPDX-License-Identifier: MIT
 *
 * Waits for states of the members, and compares the records of its members; see
 * ring_members.h.
 */
#include "ring_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const uint64_t patience_ns = 15000000000;

/* ---- waiting ---- */

/* The state of each member, and the error of the controller if there is one. */
static void print_all(struct ring_members *members, char *text, size_t room)
{
    struct gw_error why = {0};
    gw__session_lock(&members->supervisor);
    const struct gw__membership_update *update = &members->supervisor.update;
    size_t used = (size_t)snprintf(
        text, room, " epoch %" PRIu64 ", %u members, %u joiners%s;",
        update->view.epoch, update->view.ring_count, update->joiner_count,
        update->flushing ? ", flushing" : "");
    gw__session_unlock(&members->supervisor);
    for (unsigned i = 0; i < members->plan.processes && used < room; i++) {
        struct member_process *process = member_process(members, i);
        used += (size_t)snprintf(text + used, room - used,
                                 " %u: state %d op %" PRIu64 " %s;", i,
                                 atomic_load(&process->state),
                                 atomic_load(&process->op), process->text);
    }
    if (used < room && (gw__controller_error(members->controller, &why) ||
                        gw__driver_error(members->supervisor.driver, &why)))
        snprintf(text + used, room - used, " %s", why.text);
}

static void check_members(const struct ring_members *members)
{
    for (unsigned i = 0; i < members->plan.processes; i++)
        if (members->pids[i] > 0 &&
            atomic_load(&member_process(members, i)->state) == PROCESS_FAILED)
            ck_abort_msg("node %u: %s; seed %" PRIu64, i,
                         member_process(members, i)->text, members->seed);
}

/* Fails the test when it takes too long, or a member has failed. */
static void wait_more(struct ring_members *members, uint64_t begin_ns,
                      const char *what)
{
    static const struct timespec nap = {.tv_nsec = 200000};
    char text[2048];
    check_members(members);
    if (gw_now_ns() - begin_ns > patience_ns) {
        print_all(members, text, sizeof text);
        ck_abort_msg("waited too long for %s:%s seed %" PRIu64, what, text,
                     members->seed);
    }
    nanosleep(&nap, NULL);
}

/* Fails if no op is done during the whole of that time. */
void members_await_ops(struct ring_members *members, unsigned number,
                       uint64_t ops)
{
    uint64_t begin_ns = gw_now_ns(), before = 0, now;
    while ((now = atomic_load(&member_process(members, number)->ops)) < ops) {
        if (now > before)
            begin_ns = gw_now_ns();
        before = now;
        wait_more(members, begin_ns, "ops");
    }
}

void members_await_all(struct ring_members *members, uint64_t ops)
{
    for (unsigned i = 0; i < members->plan.processes; i++)
        if (members_is_alive(members, i))
            members_await_ops(members, i, ops);
}

void members_await_state(struct ring_members *members, unsigned number,
                         enum process_state state)
{
    uint64_t begin_ns = gw_now_ns(), before = 0, now;
    while (atomic_load(&member_process(members, number)->state) != (int)state) {
        now = atomic_load(&member_process(members, number)->ops);
        if (now > before)
            begin_ns = gw_now_ns();
        before = now;
        wait_more(members, begin_ns, "a member's state");
    }
}

void members_await_size(struct ring_members *members, unsigned size)
{
    uint64_t begin_ns = gw_now_ns();
    for (;;) {
        gw__session_lock(&members->supervisor);
        unsigned count = members->supervisor.update.view.ring_count;
        gw__session_unlock(&members->supervisor);
        if (count == size)
            return;
        wait_more(members, begin_ns, "a view of another size");
    }
}

uint64_t members_await_epoch(struct ring_members *members, uint64_t epoch)
{
    uint64_t begin_ns = gw_now_ns(), last_ns = 0;
    for (unsigned i = 0; i < members->plan.processes; i++) {
        struct member_process *process = member_process(members, i);
        while (members_is_alive(members, i) &&
               atomic_load(&process->epoch) <= epoch)
            wait_more(members, begin_ns, "results of a later epoch");
        uint64_t ns = atomic_load(&process->epoch_ns);
        if (members_is_alive(members, i) && ns > last_ns)
            last_ns = ns;
    }
    return last_ns;
}

/* ---- the end ---- */

/* Records of an op that both members took part in must be equal. */
static void compare(const struct ring_members *members, unsigned a, unsigned b)
{
    const struct member_process *x = member_process(members, a),
                                *y = member_process(members, b);
    uint64_t first = x->first_op > y->first_op ? x->first_op : y->first_op;
    if (first + MEMBERS_OPS < x->status.op)
        first = x->status.op - MEMBERS_OPS;
    for (uint64_t op = first; op + 1 < x->status.op; op++) {
        const struct op_record *p = &x->records[op % MEMBERS_OPS];
        const struct op_record *q = &y->records[op % MEMBERS_OPS];
        ck_assert_msg(
            p->contributors == q->contributors && p->digest == q->digest,
            "op %" PRIu64 ": node %u has %" PRIx64 ", node %u has %" PRIx64
            "; seed %" PRIu64,
            op, a, p->contributors, b, q->contributors, members->seed);
    }
}

void ring_members_end(struct ring_members *members)
{
    int first = -1;
    atomic_store(&members->shared->wants_end, true);
    for (unsigned i = 0; i < members->plan.processes; i++) {
        if (!members_is_alive(members, i))
            continue;
        members_await_state(members, i, PROCESS_DONE);
        const struct gw_ring_status *s = &member_process(members, i)->status;
        ck_assert_uint_eq(s->lost, 0);
        ck_assert_uint_eq(s->doubled, 0);
        if (first < 0)
            first = (int)i;
        ck_assert_uint_eq(s->op,
                          member_process(members, (unsigned)first)->status.op);
        ck_assert_uint_eq(
            s->digest, member_process(members, (unsigned)first)->status.digest);
        if (!members->plan.turn)
            compare(members, (unsigned)first, i);
    }
    ck_assert_int_ge(first, 0);
    atomic_store(&members->shared->released, true);
}
