/* SPDX-License-Identifier: MIT
 *
 * Inspection of a worker: the servers that its oldest request waits for, and
 * its counts.
 */
#include "worker_parts.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *out;
    size_t room, used;
};

static void GW_PRINTF(2, 3) append_text(struct text *t, const char *format, ...)
{
    va_list list;
    if (t->used >= t->room)
        return;
    va_start(list, format);
    int wrote = vsnprintf(t->out + t->used, t->room - t->used, format, list);
    va_end(list);
    t->used += wrote > 0 ? (size_t)wrote : 0;
}

/* Writes, for example, "0-20, 23". */
static void append_slots(struct text *t, const bool slots[GW_PS_SLOTS_MAX])
{
    const char *between = "";
    for (unsigned slot = 0; slot < GW_PS_SLOTS_MAX; slot++) {
        unsigned last = slot;
        if (!slots[slot])
            continue;
        while (last + 1 < GW_PS_SLOTS_MAX && slots[last + 1])
            last++;
        if (last > slot)
            append_text(t, "%s%u-%u", between, slot, last);
        else
            append_text(t, "%s%u", between, slot);
        between = ", ";
        slot = last;
    }
}

static const struct gw__worker_request *oldest(const struct gw__worker *worker)
{
    const struct gw__worker_request *found = NULL;
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++) {
        const struct gw__worker_request *r = &worker->requests[i];
        if (r->id && r->partitions > 0 &&
            (!found || r->began_ns < found->began_ns))
            found = r;
    }
    return found;
}

/* Finds the unfinished slots for which the request waits for the lowest node
 * from `first` on, and returns this node. UINT_MAX: it waits for none. */
static unsigned next_node(const struct gw__worker *worker,
                          const struct gw__worker_request *request,
                          unsigned first, bool slots[GW_PS_SLOTS_MAX])
{
    unsigned node = UINT_MAX;
    memset(slots, 0, GW_PS_SLOTS_MAX * sizeof *slots);
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++) {
        const struct gw__partition *partition = &worker->partitions[i];
        if (partition->request != request)
            continue;
        for (const struct gw__attempt *f = partition->attempts; f;
             f = f->next) {
            if (f->node < first || f->node > node)
                continue;
            if (f->node < node)
                memset(slots, 0, GW_PS_SLOTS_MAX * sizeof *slots);
            node = f->node;
            for (uint64_t rest = f->segments; rest; rest &= rest - 1)
                slots[gw__partition_slot(
                    partition, (unsigned)__builtin_ctzll(rest))] = true;
        }
    }
    return node;
}

void gw__worker_describe_wait(const struct gw__worker *worker, uint64_t now_ns,
                              char *out, size_t room)
{
    struct text t = {.out = out, .room = room};
    bool slots[GW_PS_SLOTS_MAX];
    const struct gw__worker_request *request = oldest(worker);
    const char *between = "";
    if (room > 0)
        out[0] = 0;
    if (!request) {
        append_text(&t, "no server");
        return;
    }
    for (unsigned first = 0, node;
         (node = next_node(worker, request, first, slots)) != UINT_MAX;
         first = node + 1) {
        if (node == GW__NO_NODE)
            append_text(&t, "%sa new primary (slots ", between);
        else
            append_text(&t, "%sserver %u (slots ", between, node);
        append_slots(&t, slots);
        append_text(&t, ")");
        between = ", ";
    }
    append_text(&t, " for %.1f s", (double)(now_ns - request->began_ns) / 1e9);
}

void gw__worker_counts(const struct gw__worker *worker,
                       struct gw_ps_counts *counts)
{
    *counts = worker->counts;
}
