/* SPDX-License-Identifier: MIT
 *
 * A process of the crew; see ring_crew.h.
 */
#include "ring_crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MOST = 1 << 17 };

static struct crew_seat *counted; /* where events are counted: our own */

static void nap(uint64_t us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1000000),
                         .tv_nsec = (long)(us % 1000000) * 1000};
    while (us && nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

int64_t crew_digits(uint64_t nodes)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < CREW_NODES; i++)
        if (nodes >> i & 1)
            sum += (int64_t)1 << 2 * i;
    return sum;
}

static size_t count_of(const struct crew *crew, uint64_t op)
{
    static const size_t counts[] = {1, 2, 5, 64, 1000, 7, 30000, COUNT_MOST};
    return crew->plan.count ? crew->plan.count
                            : counts[op * 7 % (sizeof counts / sizeof *counts)];
}

/* ---- the state ---- */

static void apply(void *context, const struct gw_ring_result *result)
{
    struct crew *crew = context;
    struct crew_head *head = crew->head;
    const int64_t *values = result->data;
    head->ops++;
    head->sum = head->sum * 31 + result->contributors;
    if (result->count == 0)
        return;
    head->sum += (uint64_t)values[0];
    if (values[result->count - 1] && !head->end_op)
        head->end_op = result->op + CREW_AFTER;
    if (crew->plan.blob_bytes)
        head->blob[head->sum % crew->plan.blob_bytes] ^=
            (unsigned char)(head->sum >> 32);
}

static size_t state_bytes(const struct crew *crew)
{
    return sizeof *crew->head + crew->plan.blob_bytes;
}

/* ---- an op ---- */

static enum gw_err check(const struct gw_ring_result *result,
                         struct gw_error *why)
{
    const int64_t *values = result->data;
    int64_t want = crew_digits(result->contributors);
    for (size_t i = 0; i + 1 < result->count; i++)
        if (values[i] != want)
            return gw_fail(why, GW_EWRONG,
                           "op %llu of %zu, element %zu: %llx, contributors "
                           "%llx",
                           (unsigned long long)result->op, result->count, i,
                           (unsigned long long)values[i],
                           (unsigned long long)result->contributors);
    return GW_OK;
}

static void write_down(struct crew *crew, struct gw_ring *ring,
                       const struct gw_ring_result *result)
{
    struct crew_seat *seat = crew_seat(crew, crew->seat);
    struct crew_record *record = &seat->records[result->op % CREW_OPS];
    struct gw_ring_status status;
    gw_ring_status(ring, &status);
    record->contributors = result->contributors;
    record->digest = status.digest;
    if (result->epoch > atomic_load(&seat->epoch)) {
        atomic_store(&seat->epoch_ns, gw_now_ns());
        atomic_store(&seat->epoch, result->epoch);
    }
    atomic_fetch_add(&seat->ops, 1);
}

enum gw_err crew_turn(struct crew *crew, struct gw_ring *ring,
                      struct gw_error *why)
{
    struct gw_ring_turn turn;
    struct gw_ring_result result;
    enum gw_err err = gw_ring_begin(ring, &turn, why);
    if (err)
        return err;
    atomic_store(&crew_seat(crew, crew->seat)->op, turn.op);
    if (turn.place >= turn.origin_count)
        return gw_fail(why, GW_EWRONG, "no place in op %llu",
                       (unsigned long long)turn.op);
    nap(crew->plan.think_us);
    size_t count = count_of(crew, turn.op) + 1;
    for (size_t i = 0; i + 1 < count; i++)
        crew->in[i] = (int64_t)1 << 2 * crew->node;
    crew->in[count - 1] = atomic_load(&crew->shared->wants_end);
    const struct gw_ring_call call = {.in = crew->in,
                                      .out = crew->out,
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
        write_down(crew, ring, &result);
    return err;
}

/* ---- a life ---- */

/* A sink that counts. */
static void count_event(struct gw_sink *sink, const struct gw_event *event)
{
    (void)sink;
    counted->events[event->kind]++;
    if (event->kind == GW_EV_MEMBER && event->value == GW_MEMBER_DEAD)
        counted->told_dead |= (uint64_t)1 << event->rank;
}

static enum gw_err join(struct crew *crew, struct gw_ring **ring,
                        struct gw_error *why)
{
    static struct gw_sink events = {.emit = count_event};
    char endpoint[80], controller[80];
    snprintf(endpoint, sizeof endpoint, "ipc://@gw-crew-%llx-%u",
             (unsigned long long)crew->token, crew->seat);
    snprintf(controller, sizeof controller, "ipc://@gw-crew-%llx-%d",
             (unsigned long long)crew->token, CREW_CONTROLLER);
    const struct gw_ring_config config = {
        .node = crew->plan.any && crew->seat >= crew->plan.members ? GW_RING_ANY
                                                                   : crew->seat,
        .endpoint = endpoint,
        .token = crew->token,
        .controller_count = 1,
        .controllers = {CREW_CONTROLLER},
        .controller_endpoints = {controller},
        .wire = crew->plan.wire,
        .events = &events,
        .join_timeout_ms = 20000,
        .min_size = crew->plan.least,
        .max_size = crew->plan.most,
        .patience_ms = crew->plan.patience_ms,
        .context = crew,
        .state = crew->head,
        .state_bytes = state_bytes(crew),
        .apply = apply};
    memset(crew->head, 0, state_bytes(crew));
    memset(counted->events, 0, sizeof counted->events);
    return gw_ring_join(&config, ring, why);
}

static enum gw_err work(struct crew *crew, struct gw_ring *ring,
                        struct gw_error *why)
{
    struct crew_seat *seat = crew_seat(crew, crew->seat);
    enum gw_err err = GW_OK;
    while (!err &&
           (crew->head->end_op == 0 || crew->head->ops < crew->head->end_op)) {
        if (atomic_load(&seat->leaves)) {
            err = gw_ring_leave(ring, why);
            atomic_store(&seat->state, err ? CREW_FAILED : CREW_LEFT);
            return err;
        }
        if (crew->plan.before)
            crew->plan.before(crew);
        err = crew->plan.turn ? crew->plan.turn(crew, ring, why)
                              : crew_turn(crew, ring, why);
    }
    return err ? err : gw_ring_check(ring, why);
}

static enum gw_err live(struct crew *crew, struct gw_error *why)
{
    const struct gw_ring_link slow = {.rate = crew->plan.rate};
    struct crew_seat *seat = crew_seat(crew, crew->seat);
    struct gw_ring *ring;
    atomic_store(&seat->state, CREW_JOINS);
    enum gw_err err = join(crew, &ring, why);
    if (err)
        return err;
    gw_ring_pace(ring, crew->plan.pace_ns);
    if (crew->seat == 1)
        gw_ring_emulate_link(ring, 0, &slow);
    gw_ring_status(ring, &seat->status);
    seat->first_op = seat->status.op;
    crew->node = seat->status.node;
    atomic_store(&seat->ops, 0);
    atomic_fetch_add(&seat->lives, 1);
    atomic_store(&seat->state, CREW_MEMBER);
    err = work(crew, ring, why);
    gw_ring_status(ring, &seat->status);
    if (!err && atomic_load(&seat->state) == CREW_MEMBER)
        atomic_store(&seat->state, CREW_DONE);
    while (!err && !atomic_load(&crew->shared->released))
        nap(200); /* others may still need its copies */
    gw_ring_destroy(&ring);
    return err;
}

static bool gives_up(const struct crew_plan *plan, enum gw_err err)
{
    bool bounded = plan->least || plan->most || plan->patience_ms;
    return bounded &&
           (err == GW_EINVAL || err == GW_ETIMEOUT || err == GW_EUNREACH);
}

_Noreturn void crew_member(struct crew *crew, unsigned number)
{
    struct crew_seat *seat = crew_seat(crew, number);
    struct gw_error why = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    crew->seat = crew->node = number;
    counted = seat;
    crew->head = malloc(state_bytes(crew));
    crew->in = malloc((COUNT_MOST + 1) * sizeof *crew->in);
    crew->out = malloc((COUNT_MOST + 1) * sizeof *crew->out);
    while (!atomic_load(&seat->go))
        nap(200);
    if (crew->plan.before)
        crew->plan.before(crew);
    enum gw_err err;
    do
        err = live(crew, &why);
    while (err == GW_ECLOSED && crew->plan.rejoins);
    if (err) {
        snprintf(seat->text, sizeof seat->text, "%s: %s", gw_err_name(err),
                 why.text);
        atomic_store(&seat->state,
                     gives_up(&crew->plan, err) ? CREW_GAVE_UP : CREW_FAILED);
    }
    free(crew->head);
    free(crew->in);
    free(crew->out);
    _exit(err ? 1 : 0);
}
