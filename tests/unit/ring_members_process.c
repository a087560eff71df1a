/* SPDX-License-Identifier: MIT
 *
 * A process of the members; see ring_members.h.
 */
#include "node_bits.h"
#include "ring_members.h"

#include <ring/ring_parts.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MOST = 1 << 17 };

static struct member_process *counted; /* where events are counted: our own */

static void nap(uint64_t us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1000000),
                         .tv_nsec = (long)(us % 1000000) * 1000};
    while (us && nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

int64_t members_digits(uint64_t nodes)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < MEMBERS_NODES; i++)
        if (nodes >> i & 1)
            sum += (int64_t)1 << 2 * i;
    return sum;
}

static size_t count_of(const struct ring_members *members, uint64_t op)
{
    static const size_t counts[] = {1, 2, 5, 64, 1000, 7, 30000, COUNT_MOST};
    return members->plan.count
               ? members->plan.count
               : counts[op * 7 % (sizeof counts / sizeof *counts)];
}

/* ---- the state ---- */

static void apply(void *context, const struct gw_ring_result *result)
{
    struct ring_members *members = context;
    struct member_state *head = members->head;
    const int64_t *values = result->data;
    head->ops++;
    head->sum = head->sum * 31 + node_bits(result->contributors);
    if (result->count == 0)
        return;
    head->sum += (uint64_t)values[0];
    if (values[result->count - 1] && !head->end_op)
        head->end_op = result->op + MEMBERS_AFTER;
    if (members->plan.blob_bytes)
        head->blob[head->sum % members->plan.blob_bytes] ^=
            (unsigned char)(head->sum >> 32);
}

static size_t state_bytes(const struct ring_members *members)
{
    return sizeof *members->head + members->plan.blob_bytes;
}

/* ---- an op ---- */

static enum gw_err check(const struct gw_ring_result *result,
                         struct gw_error *why)
{
    const int64_t *values = result->data;
    int64_t want = members_digits(node_bits(result->contributors));
    for (size_t i = 0; i + 1 < result->count; i++)
        if (values[i] != want)
            return gw_fail(why, GW_EWRONG,
                           "op %llu of %zu, element %zu: %llx, contributors "
                           "%llx",
                           (unsigned long long)result->op, result->count, i,
                           (unsigned long long)values[i],
                           (unsigned long long)node_bits(result->contributors));
    return GW_OK;
}

static void write_down(struct ring_members *members, struct gw_ring *ring,
                       const struct gw_ring_result *result)
{
    struct member_process *process = member_process(members, members->number);
    struct op_record *record = &process->records[result->op % MEMBERS_OPS];
    struct gw_ring_status status;
    gw_ring_status(ring, &status);
    record->contributors = node_bits(result->contributors);
    record->digest = status.digest;
    if (result->epoch > atomic_load(&process->epoch)) {
        atomic_store(&process->epoch_ns, gw_now_ns());
        atomic_store(&process->epoch, result->epoch);
    }
    atomic_fetch_add(&process->ops, 1);
}

enum gw_err members_run_op(struct ring_members *members, struct gw_ring *ring,
                           struct gw_error *why)
{
    struct gw_ring_turn turn;
    struct gw_ring_result result;
    enum gw_err err = gw_ring_begin(ring, &turn, why);
    if (err)
        return err;
    atomic_store(&member_process(members, members->number)->op, turn.op);
    if (turn.place >= turn.initial_count)
        return gw_fail(why, GW_EWRONG, "no place in op %llu",
                       (unsigned long long)turn.op);
    nap(members->plan.think_us);
    size_t count = count_of(members, turn.op) + 1;
    for (size_t i = 0; i + 1 < count; i++)
        members->in[i] = (int64_t)1 << 2 * members->node;
    members->in[count - 1] = atomic_load(&members->shared->wants_end);
    const struct gw_ring_call call = {.in = members->in,
                                      .out = members->out,
                                      .count = count,
                                      .type = GW_I64,
                                      .op = GW_SUM};
    err = gw_ring_allreduce(ring, &call, &result, why);
    if (!err && result.op != turn.op)
        err =
            gw_fail(why, GW_EWRONG, "began op %llu, got the result of %llu",
                    (unsigned long long)turn.op, (unsigned long long)result.op);
    if (!err)
        err = check(&result, why);
    if (!err)
        write_down(members, ring, &result);
    return err;
}

/* ---- a life ---- */

/* A sink that counts. */
static void count_event(struct gw_sink *sink, const struct gw_event *event)
{
    (void)sink;
    counted->events[event->kind]++;
    if (event->kind == GW_EV_MEMBER && event->value == GW_MEMBER_DEAD)
        counted->reported_dead |= (uint64_t)1 << event->rank;
}

static enum gw_err join(struct ring_members *members, struct gw_ring **ring,
                        struct gw_error *why)
{
    static struct gw_sink events = {.emit = count_event};
    char endpoint[80], controller[80];
    snprintf(endpoint, sizeof endpoint, "ipc://@gw-members-%llx-%u",
             (unsigned long long)members->token, members->number);
    snprintf(controller, sizeof controller, "ipc://@gw-members-%llx-%d",
             (unsigned long long)members->token, MEMBERS_CONTROLLER);
    const struct gw_ring_config config = {
        .node = members->plan.any && members->number >= members->plan.members
                    ? GW_RING_ANY
                    : members->number,
        .endpoint = endpoint,
        .token = members->token,
        .controller_count = 1,
        .controllers = {MEMBERS_CONTROLLER},
        .controller_endpoints = {controller},
        .wire = members->plan.wire,
        .events = &events,
        .join_timeout_ms = 20000,
        .min_size = members->plan.least,
        .max_size = members->plan.most,
        .patience_ms = members->plan.patience_ms,
        .context = members,
        .state = members->head,
        .state_bytes = state_bytes(members),
        .apply = apply};
    memset(members->head, 0, state_bytes(members));
    memset(counted->events, 0, sizeof counted->events);
    return gw_ring_join(&config, ring, why);
}

static enum gw_err work(struct ring_members *members, struct gw_ring *ring,
                        struct gw_error *why)
{
    struct member_process *process = member_process(members, members->number);
    enum gw_err err = GW_OK;
    while (!err && (members->head->end_op == 0 ||
                    members->head->ops < members->head->end_op)) {
        if (atomic_load(&process->leaves)) {
            err = gw_ring_leave(ring, why);
            atomic_store(&process->state, err ? PROCESS_FAILED : PROCESS_LEFT);
            return err;
        }
        if (members->plan.before)
            members->plan.before(members);
        err = members->plan.turn ? members->plan.turn(members, ring, why)
                                 : members_run_op(members, ring, why);
    }
    return err ? err : gw_ring_check(ring, why);
}

static enum gw_err live(struct ring_members *members, struct gw_error *why)
{
    const struct gw_link_profile slow = {.rate = members->plan.rate};
    struct member_process *process = member_process(members, members->number);
    struct gw_ring *ring;
    atomic_store(&process->state, PROCESS_JOINING);
    enum gw_err err = join(members, &ring, why);
    if (err)
        return err;
    gw_ring_pace(ring, members->plan.pace_ns);
    if (members->number == 1)
        gw_ring_emulate_link(ring, 0, &slow);
    gw_ring_status(ring, &process->status);
    process->first_op = process->status.op;
    members->node = process->status.node;
    atomic_store(&process->ops, 0);
    atomic_fetch_add(&process->lives, 1);
    atomic_store(&process->state, PROCESS_MEMBER);
    err = work(members, ring, why);
    gw_ring_status(ring, &process->status);
    process->hops = ring->hops;
    if (!err && atomic_load(&process->state) == PROCESS_MEMBER)
        atomic_store(&process->state, PROCESS_DONE);
    while (!err && !atomic_load(&members->shared->released))
        nap(200); /* others may still need its copies */
    gw_ring_destroy(&ring);
    return err;
}

static bool gives_up(const struct members_plan *plan, enum gw_err err)
{
    bool bounded = plan->least || plan->most || plan->patience_ms;
    return bounded &&
           (err == GW_EINVAL || err == GW_ETIMEOUT || err == GW_EUNREACH);
}

_Noreturn void member_main(struct ring_members *members, unsigned number)
{
    struct member_process *process = member_process(members, number);
    struct gw_error why = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    members->number = members->node = number;
    counted = process;
    members->head = malloc(state_bytes(members));
    members->in = malloc((COUNT_MOST + 1) * sizeof *members->in);
    members->out = malloc((COUNT_MOST + 1) * sizeof *members->out);
    while (!atomic_load(&process->go))
        nap(200);
    if (members->plan.before)
        members->plan.before(members);
    enum gw_err err;
    do
        err = live(members, &why);
    while (err == GW_ECLOSED && members->plan.rejoins);
    if (err) {
        snprintf(process->text, sizeof process->text, "%s: %s",
                 gw_err_name(err), why.text);
        atomic_store(&process->state, gives_up(&members->plan, err)
                                          ? PROCESS_GAVE_UP
                                          : PROCESS_FAILED);
    }
    free(members->head);
    free(members->in);
    free(members->out);
    _exit(err ? 1 : 0);
}
