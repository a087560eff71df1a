/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See compare.h.
 */
#include "compare.h"

#include "common/text/json_get.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 256 };

struct comparison {
    const json_t *before, *now;
    bool lockstep, done, undisturbed;
    bool differs;
    compare_row *row;
    void *context;
};

static void compare_texts(struct comparison *c, const char *name,
                          const char *before, const char *now, bool must)
{
    enum compare_verdict verdict = strcmp(before, now) == 0 ? COMPARE_SAME
                                   : must                   ? COMPARE_DIFFERS
                                                            : COMPARE_VARIES;
    c->differs |= verdict == COMPARE_DIFFERS;
    c->row(c->context, name, before, now, verdict);
}

static void print_value(const json_t *value, char out[TEXT_MAX])
{
    out[0] = '-';
    out[1] = 0;
    if (json_is_string(value))
        snprintf(out, TEXT_MAX, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(out, TEXT_MAX, "%" PRId64, (int64_t)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, TEXT_MAX, "%.9g", json_real_value(value));
}

static void compare_value(struct comparison *c, const char *name,
                          const json_t *before, const json_t *now, bool must)
{
    char a[TEXT_MAX], b[TEXT_MAX];
    if (!before && !now)
        return;
    print_value(before, a);
    print_value(now, b);
    compare_texts(c, name, a, b, must);
}

static void compare_members(struct comparison *c, const char *const *names,
                            bool must)
{
    for (; *names; names++)
        compare_value(c, *names, json_object_get(c->before, *names),
                      json_object_get(c->now, *names), must);
}

/* "node 2: exclude in op 3: 1 kept, 2 redone, 1 fresh" */
static void print_recovery(const json_t *recovery, char out[TEXT_MAX])
{
    const json_t *names = json_object_get(recovery, "names");
    snprintf(out, TEXT_MAX, "-");
    if (recovery)
        snprintf(out, TEXT_MAX,
                 "%s: %s in op %" PRId64 ": %" PRId64 " kept, %" PRId64
                 " redone, %" PRId64 " fresh",
                 json_array_size(names)
                     ? json_string_value(json_array_get(names, 0))
                     : "-",
                 text_of(recovery, "fate", "-"), integer_of(recovery, "op", -1),
                 integer_of(recovery, "chunks_kept", 0),
                 integer_of(recovery, "chunks_redone", 0),
                 integer_of(recovery, "chunks_fresh", 0));
}

static void compare_recoveries(struct comparison *c)
{
    const json_t *before = json_object_get(c->before, "recoveries");
    const json_t *now = json_object_get(c->now, "recoveries");
    for (size_t i = 0; i < json_array_size(before) || i < json_array_size(now);
         i++) {
        char name[64], a[TEXT_MAX], b[TEXT_MAX];
        const json_t *was = json_array_get(before, i),
                     *is = json_array_get(now, i);
        snprintf(name, sizeof name, "recovery %zu", i + 1);
        print_recovery(was, a);
        print_recovery(is, b);
        compare_texts(c, name, a, b, c->lockstep);
        snprintf(name, sizeof name, "recovery %zu ms", i + 1);
        compare_value(c, name, json_object_get(was, "resumed_ms"),
                      json_object_get(is, "resumed_ms"), false);
    }
}

/* The digest of all results of a ring, at its first member; NULL: none. */
static const json_t *digest_of(const json_t *summary)
{
    const json_t *nodes = json_object_get(summary, "nodes"), *node;
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        if (strcmp(text_of(node, "role", ""), "worker") == 0 &&
            strcmp(text_of(node, "state", ""), "alive") == 0)
            return json_object_get(node, "digest");
    }
    return NULL;
}

static void compare_results(struct comparison *c)
{
    static const char *const names[] = {"train_loss", "train_accuracy",
                                        "test_loss", "test_accuracy", "digest"};
    const json_t *before = json_object_get(c->before, "result");
    const json_t *now = json_object_get(c->now, "result");
    bool must = (c->lockstep && c->done) || c->undisturbed;
    compare_value(c, "ring digest", digest_of(c->before), digest_of(c->now),
                  c->lockstep && c->done);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        compare_value(c, names[i], json_object_get(before, names[i]),
                      json_object_get(now, names[i]), must);
}

/* A ring whose members were the same all the time. */
static bool is_undisturbed(const json_t *summary)
{
    return integer_of(summary, "servers", 0) == 0 &&
           integer_of(summary, "epoch", 0) == 1;
}

bool compare_summaries(const json_t *before, const json_t *now,
                       compare_row *row, void *context)
{
    static const char *const exact[] = {
        "lost",  "doubled", "samples_lost", "samples_doubled", "done",
        "alive", NULL};
    static const char *const counts[] = {"epoch", "step", "op", NULL};
    static const char *const times[] = {"seconds", NULL};
    struct comparison c = {
        .before = before,
        .now = now,
        .lockstep = json_is_string(json_object_get(before, "lockstep")),
        .done = integer_of(before, "done", 0) && integer_of(now, "done", 0),
        .undisturbed = is_undisturbed(before) && is_undisturbed(now),
        .row = row,
        .context = context};
    compare_members(&c, exact, true);
    compare_members(&c, counts, c.lockstep && c.done);
    compare_recoveries(&c);
    compare_results(&c);
    compare_members(&c, times, false);
    return !c.differs;
}
