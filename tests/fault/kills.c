/* SPDX-License-Identifier: MIT
 *
 * Kills members of a run in the middle of what they do, many times, and tells
 * how long it took until the others had a new view, until it was decided what
 * becomes of the open ops, and until those were complete. tests/fault/kills.sh
 * starts the run.
 *
 *   kills RUN MEMBERS COUNT SEED kill|pause
 *   kills RUN MEMBERS SECONDS SEED calm      nobody must be convicted
 *
 * The run does `ops`: every result is checked against the contributors that it
 * says it has. Exit status 1 when a contribution was lost or counted twice, or
 * somebody was convicted in a calm.
 */
#include "common/attach.h"
#include "common/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 10000 };

static struct attach *run;
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

static json_t *ask(json_t *request, const char *where)
{
    static const uint64_t PATIENCE_NS = 30000000000;
    struct gw_error why;
    json_t *answer;
    if (attach_ask(run, request, PATIENCE_NS, &answer, &why))
        give_up(where, why.text);
    if (json_integer_value(json_object_get(answer, "code")) != 0)
        give_up(where, json_string_value(json_object_get(answer, "text")));
    return answer;
}

static void tell(json_t *request, const char *where)
{
    json_decref(ask(request, where));
}

/* Until, say, "op" ">" 7. */
static void await(const char *name, const char *relation,
                  unsigned long long value)
{
    char condition[96];
    snprintf(condition, sizeof condition, "%s%s%llu", name, relation, value);
    tell(json_pack("{s:s, s:s, s:I}", "verb", "wait", "condition", condition,
                   "timeout_ns", (json_int_t)20000000000),
         condition);
}

static json_t *status(void)
{
    json_t *answer = ask(json_pack("{s:s}", "verb", "status"), "status");
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

/* What the status says of the recovery that led to `epoch`. */
static void take_recovery(const json_t *now, unsigned long long epoch)
{
    size_t i;
    json_t *recovery;
    json_array_foreach(json_object_get(now, "recoveries"), i, recovery)
    {
        if (number(recovery, "epoch") != epoch)
            continue;
        const char *fate = json_string_value(json_object_get(recovery, "fate"));
        add(&viewed, recovery, "detected_ms");
        add(&decided, recovery, "decided_ms");
        add(&resumed, recovery, "resumed_ms");
        forward += fate && strcmp(fate, "forward") == 0;
        exclude += fate && strcmp(fate, "exclude") == 0;
        none += !fate;
        kept += (double)number(recovery, "chunks_kept");
        redone += (double)number(recovery, "chunks_redone");
        fresh += (double)number(recovery, "chunks_fresh");
    }
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

static void disturb(bool pause)
{
    await("alive", "==", members);
    json_t *before = status();
    unsigned long long op = number(before, "op");
    json_t *ring = json_object_get(before, "ring");
    size_t size = json_array_size(ring);
    json_int_t victim = json_integer_value(
        json_array_get(ring, (size_t)gw_rng_below(&rng, size ? size : 1)));
    unsigned long long epoch = number(before, "epoch");
    json_decref(before);
    await("op", ">", op);
    nap_ms(gw_rng_below(&rng, 30)); /* the moment is what is random */
    tell(json_pack("{s:s, s:I}", "verb", pause ? "pause" : "kill", "node",
                   victim),
         pause ? "pause" : "kill");
    await("epoch", ">", epoch);
    json_t *after = status();
    op = number(after, "op");
    json_decref(after);
    await("op", ">", op + 8); /* all have resumed, and told so */
    after = status();
    check(after);
    take_recovery(after, epoch + 1);
    json_decref(after);
    tell(json_pack("{s:s, s:I}", "verb", pause ? "resume" : "restart", "node",
                   victim),
         "back");
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
    unsigned long long epoch = number(before, "epoch");
    json_decref(before);
    while (gw_now_ns() < end_ns) {
        nap_ms(200);
        json_t *now = status();
        check(now);
        if (number(now, "epoch") != epoch)
            give_up("calm", "somebody was convicted that had done nothing");
        json_decref(now);
    }
    printf("ring of %u, calm for %u s: nobody convicted\n", members, count);
    return 0;
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
    if (attach_open(argv[1], &run, &why))
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
    attach_close(&run);
    return 0;
}
