/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The runs of `collrun bench`: each wire with each number of ranks. A repeat
 * starts the processes of every run again, one run after the other, so that a
 * slow minute of the machine does not hit one combination alone.
 */
#include "bench.h"

#include "collrun/run/ranks.h"

#include <stdio.h>
#include <string.h>

static const char *const wires[BENCH_WIRES] = {"shm", "ipc", "tcp", "zmq",
                                               "verbs"};

static const char *find_wire(const char *word, size_t length)
{
    for (unsigned i = 0; i < BENCH_WIRES; i++)
        if (strlen(wires[i]) == length && memcmp(wires[i], word, length) == 0)
            return wires[i];
    return NULL;
}

static bool has_wire(const struct bench_runs *runs, const char *wire)
{
    for (unsigned i = 0; i < runs->wires_count; i++)
        if (runs->wires[i] == wire)
            return true;
    return false;
}

static enum gw_err parse_wires(struct bench_runs *runs, const char *text,
                               struct gw_error *why)
{
    for (const char *rest = text; rest;) {
        size_t length = strcspn(rest, ",");
        const char *wire = find_wire(rest, length);
        if (!wire)
            return gw_fail(
                why, GW_EINVAL,
                "--wire must be one of shm|ipc|tcp|zmq|verbs or a list "
                "such as shm,tcp, not \"%.60s\"",
                text);
        if (!has_wire(runs, wire))
            runs->wires[runs->wires_count++] = wire;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return GW_OK;
}

enum gw_err bench_runs_parse(struct bench_runs *runs, const char *ranks,
                             const char *wire, struct gw_error *why)
{
    *runs = (struct bench_runs){.ranks_count = 0};
    enum gw_err err = GW_OK;
    if (ranks)
        err = ranks_parse(ranks, 1, runs->ranks, BENCH_RANKS_MAX,
                          &runs->ranks_count, why);
    return err ? err : parse_wires(runs, wire, why);
}

static enum gw_err list_run(struct bench *b, const char *operand,
                            struct gw_error *why)
{
    if (b->root >= b->ranks)
        return gw_fail(why, GW_EINVAL,
                       "--root %u: must be less than the number of ranks, %u",
                       b->root, b->ranks);
    return bench_list(b, operand, why);
}

enum gw_err bench_runs_list(const struct bench_runs *runs, struct bench *b,
                            const char *operand, struct gw_error *why)
{
    for (unsigned w = 0; w < runs->wires_count; w++)
        for (unsigned r = 0; r < runs->ranks_count; r++) {
            b->wire = runs->wires[w];
            b->ranks = runs->ranks[r];
            if (list_run(b, operand, why))
                return why->code;
        }
    return GW_OK;
}

bool bench_next_run(struct bench *b)
{
    b->begin = b->end < b->case_count ? b->end : 0;
    bool found = b->end < b->case_count;
    b->end = b->begin;
    if (!found)
        return false;
    const struct bench_case *first = &b->cases[b->begin];
    b->ranks = first->ranks;
    b->wire = first->wire;
    while (b->end < b->case_count && b->cases[b->end].ranks == b->ranks &&
           strcmp(b->cases[b->end].wire, b->wire) == 0)
        b->end++;
    return true;
}
