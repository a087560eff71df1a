/* SPDX-License-Identifier: MIT
 *
 * Kills random members of a run many times, and reports the times until the
 * others had a new view, until the open ops were decided, and until these were
 * complete. tests/fault/kills.sh starts the run.
 *
 *   kills RUN MEMBERS COUNT SEED kill|pause
 *   kills RUN MEMBERS SECONDS SEED calm      no member must be declared dead
 *
 * The run does `ops`: every result is checked against the contributors reported
 * with it. Or it trains on parameter servers: then servers are killed. Exit
 * status 1 if a contribution was lost or counted twice, 3 if a member was
 * declared dead in a calm run.
 */
#include "common/command.h"
#include "common/rpc_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 10000 };

static struct rpc_client *run;
static unsigned members, count;
static struct gw_rng rng;

struct samples {
    const char *what;
    unsigned count;
    double ms[SAMPLES_MAX];
};
static struct samples viewed = {.what = "new view"},
                      decided = {.what = "decided"},
                      resumed = {.what = "resumed"};
static unsigned forward, exclude, none;
static double kept, redone, fresh; /* chunks */

static _Noreturn void give_up(const char *where, const char *why)
{
    fprintf(stderr, "kills: %s: %s\n", where, why);
    exit(1);
}

static json_t *send_request(json_t *request, const char *where)
{
    static const uint64_t PATIENCE_NS = 30000000000;
    struct gw_error why;
    json_t *answer;
    if (rpc_client_request(run, request, PATIENCE_NS, &answer, &why))
        give_up(where, why.text);
    if (json_integer_value(json_object_get(answer, "code")) != 0)
        give_up(where, json_string_value(json_object_get(answer, "text")));
    return answer;
}

static void run_request(json_t *request, const char *where)
{
    json_decref(send_request(request, where));
}

/* Waits for a condition such as "op" ">" 7. */
static void await(const char *name, const char *relation,
                  unsigned long long value)
{
    char condition[96];
    snprintf(condition, sizeof condition, "%s%s%llu", name, relation, value);
    run_request(json_pack("{s:s, s:s, s:I}", "verb", "wait", "condition",
                          condition, "timeout_ns", (json_int_t)20000000000),
                condition);
}

static json_t *status(void)
{
    json_t *answer =
        send_request(json_pack("{s:s}", "verb", "status"), "status");
    json_t *data = json_incref(json_object_get(answer, "data"));
    json_decref(answer);
    return data;
}

static unsigned long long number(const json_t *object, const char *name)
{
    return (unsigned long long)json_integer_value(
        json_object_get(object, name));
}

static void add(struct samples *samples, const json_t *from, const char *name)
{
    const json_t *ms = json_object_get(from, name);
    if (json_is_number(ms) && samples->count < SAMPLES_MAX)
        samples->ms[samples->count++] = json_number_value(ms);
}

static bool is_of(const json_t *recovery, const char *name)
{
    const json_t *names = json_object_get(recovery, "names");
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
            return true;
    return false;
}

/* The recovery from the loss of `name` that began after `epoch`. */
static const json_t *find_recovery(const json_t *now, const char *name,
                                   unsigned long long epoch)
{
    size_t i;
    json_t *recovery;
    json_array_foreach(json_object_get(now, "recoveries"), i, recovery)
    {
        if (number(recovery, "epoch") > epoch && is_of(recovery, name))
            return recovery;
    }
    return NULL;
}

static void add_recovery(const json_t *recovery)
{
    const char *fate = json_string_value(json_object_get(recovery, "fate"));
    add(&viewed, recovery, "viewed_ms");
    add(&decided, recovery, "decided_ms");
    add(&resumed, recovery, "resumed_ms");
    forward += fate && strcmp(fate, "forward") == 0;
    exclude += fate && strcmp(fate, "exclude") == 0;
    none += !fate;
    kept += (double)number(recovery, "chunks_kept");
    redone += (double)number(recovery, "chunks_redone");
    fresh += (double)number(recovery, "chunks_fresh");
}

static void check(const json_t *now)
{
    if (number(now, "lost") != 0 || number(now, "doubled") != 0) {
        char *text = json_dumps(now, JSON_INDENT(1));
        fprintf(stderr, "%s\n", text);
        free(text);
        give_up("oracle", "a contribution was lost or doubled");
    }
}

static void nap_ms(uint64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* A random member of the ring, or a server. */
struct victim {
    const char *role, *noun, *progress; /* the progress of its run */
    json_int_t node;
};

static struct victim choose(const json_t *now)
{
    const json_t *ring = json_object_get(now, "ring");
    json_int_t servers = (json_int_t)number(now, "servers");
    size_t size = json_array_size(ring);
    if (servers > 0)
        return (struct victim){
            "server", "server", "step",
            (json_int_t)gw_rng_below(&rng, (uint64_t)servers)};
    size_t rank = (size_t)gw_rng_below(&rng, size ? size : 1);
    return (struct victim){"worker", "node", "op",
                           json_integer_value(json_array_get(ring, rank))};
}

static void do_to(const struct victim *victim, const char *verb)
{
    run_request(json_pack("{s:s, s:s, s:I}", "verb", verb, "role", victim->role,
                          "node", victim->node),
                verb);
}

/* Waits until the others have a view without it. */
static void await_loss(const char *name, unsigned long long epoch)
{
    const uint64_t limit_ns = gw_now_ns() + 20000000000U;
    bool lost = false;
    while (!lost) {
        json_t *now = status();
        lost = find_recovery(now, name, epoch);
        json_decref(now);
        if (!lost && gw_now_ns() > limit_ns)
            give_up(name, "no member declares it dead");
        nap_ms(lost ? 0 : 10);
    }
}

/* Waits until all are members, and each slot has all its replicas: the loss of
 * the only complete replica would be permanent. */
static void await_whole(void)
{
    await("alive", "==", members);
    json_t *now = status();
    unsigned long long replicas = number(now, "replicas_wanted");
    json_decref(now);
    if (replicas > 0)
        await("replicas", "==", replicas);
}

static void disturb(bool pause)
{
    char name[32];
    await_whole();
    json_t *before = status();
    const struct victim victim = choose(before);
    unsigned long long done = number(before, victim.progress);
    unsigned long long epoch = number(before, "epoch");
    json_decref(before);
    await(victim.progress, ">", done);
    nap_ms(gw_rng_below(&rng, 30)); /* a random moment */
    snprintf(name, sizeof name, "%s %lld", victim.noun, (long long)victim.node);
    do_to(&victim, pause ? "pause" : "kill");
    await_loss(name, epoch);
    json_t *after = status();
    done = number(after, victim.progress);
    json_decref(after);
    await(victim.progress, ">", done + 8); /* all have reported progress */
    after = status();
    check(after);
    add_recovery(find_recovery(after, name, epoch));
    json_decref(after);
    do_to(&victim, pause ? "resume" : "restart");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(struct samples *s)
{
    if (s->count == 0)
        return;
    qsort(s->ms, s->count, sizeof *s->ms, by_size);
    printf("  %-10s %5u  p50 %7.2f  p90 %7.2f  p99 %7.2f  max %7.2f ms\n",
           s->what, s->count, s->ms[s->count / 2], s->ms[s->count * 9 / 10],
           s->ms[s->count * 99 / 100], s->ms[s->count - 1]);
}

static int calm(void)
{
    await("alive", "==", members);
    json_t *before = status();
    uint64_t end_ns = gw_now_ns() + (uint64_t)count * 1000000000;
    unsigned long long had = number(before, "recoveries_count"), has = had;
    json_decref(before);
    while (gw_now_ns() < end_ns) {
        nap_ms(200);
        json_t *now = status();
        check(now);
        has = number(now, "recoveries_count");
        json_decref(now);
    }
    printf("%u members, calm for %u s: %llu declared dead\n", members, count,
           has - had);
    return has > had ? 3 : 0;
}

int main(int argc, char **argv)
{
    struct gw_error why;
    if (argc != 6) {
        fprintf(stderr, "usage: kills RUN MEMBERS COUNT SEED "
                        "kill|pause|calm\n");
        return 64;
    }
    members = (unsigned)strtoul(argv[2], NULL, 10);
    count = (unsigned)strtoul(argv[3], NULL, 10);
    gw_rng_seed(&rng, strtoull(argv[4], NULL, 10));
    if (rpc_client_open(argv[1], &run, &why))
        give_up(argv[1], why.text);
    if (strcmp(argv[5], "calm") == 0)
        return calm();
    for (unsigned i = 0; i < count; i++)
        disturb(strcmp(argv[5], "pause") == 0);
    printf("ring of %u, %u times %s, seed %s: %u ops forward, %u exclude, %u "
           "with none open; %.1f %% of the chunks redone\n",
           members, count, argv[5], argv[4], forward, exclude, none,
           100 * redone / fmax(kept + redone + fresh, 1));
    print(&viewed);
    print(&decided);
    print(&resumed);
    rpc_client_close(&run);
    return 0;
}
