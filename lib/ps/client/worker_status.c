/* SPDX-License-Identifier: MIT
 *
 * Inspection of a worker: the servers that its oldest request waits for, and
 * its counts.
 */
#include "worker_parts.h"

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
static void append_slots(struct text *t, uint64_t slots)
{
    const char *between = "";
    for (unsigned slot = 0; slot < GW_PS_SLOTS_MAX; slot++) {
        unsigned last = slot;
        if (!(slots >> slot & 1))
            continue;
        while (last + 1 < GW_PS_SLOTS_MAX && slots >> (last + 1) & 1)
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

/* Groups the request's unfinished slots by the node that each waits for. */
static void by_node(const struct gw__worker *worker,
                    const struct gw__worker_request *request,
                    uint64_t slots[GW__NO_NODE + 1])
{
    memset(slots, 0, (GW__NO_NODE + 1) * sizeof *slots);
    for (unsigned i = 0; i < GW__PARTITION_MAX; i++)
        if (worker->partitions[i].request == request)
            for (const struct gw__attempt *f = worker->partitions[i].attempts;
                 f; f = f->next)
                slots[f->node] |= f->slots;
}

void gw__worker_describe_wait(const struct gw__worker *worker, uint64_t now_ns,
                              char *out, size_t room)
{
    struct text t = {.out = out, .room = room};
    uint64_t slots[GW__NO_NODE + 1];
    const struct gw__worker_request *request = oldest(worker);
    const char *between = "";
    if (room > 0)
        out[0] = 0;
    if (!request) {
        append_text(&t, "no server");
        return;
    }
    by_node(worker, request, slots);
    for (unsigned node = 0; node <= GW__NO_NODE; node++) {
        if (!slots[node])
            continue;
        if (node == GW__NO_NODE)
            append_text(&t, "%sa new primary (slots ", between);
        else
            append_text(&t, "%sserver %u (slots ", between, node);
        append_slots(&t, slots[node]);
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
