/* SPDX-License-Identifier: MIT
 *
 * Messages that have arrived and are not yet due: a heap of bounded size. Equal
 * times are ordered by the number of arrival, so that links keep their order.
 * The messages themselves do not move in memory (libzmq forbids it); each entry
 * owns one of them, whether it is used or not.
 */
#include "control_channel_parts.h"

#include <assert.h>
#include <stdlib.h>

#define HEAP_SLOT struct gw__later_entry
#define HEAP_EARLIER(a, b)                                                     \
    ((a)->due_ns != (b)->due_ns ? (a)->due_ns < (b)->due_ns                    \
                                : (a)->number < (b)->number)
#include "base/heap.h"

enum gw_err gw__later_init(struct gw__later *later, struct gw_error *why)
{
    *later = (struct gw__later){
        .entries = calloc(GW__LATER_MESSAGES, sizeof *later->entries),
        .messages = calloc(GW__LATER_MESSAGES, sizeof *later->messages)};
    if (!later->entries || !later->messages)
        return gw_fail(why, GW_ENOMEM, "a queue of %d messages",
                       GW__LATER_MESSAGES);
    for (unsigned i = 0; i < GW__LATER_MESSAGES; i++)
        later->entries[i].message = &later->messages[i];
    return GW_OK;
}

void gw__later_fini(struct gw__later *later)
{
    for (unsigned i = 0; i < later->count; i++)
        zmq_msg_close(later->entries[i].message);
    free(later->entries);
    free(later->messages);
    *later = (struct gw__later){.count = 0};
}

/* entry.message is that of the first entry after the heap. */
static void add_entry(struct gw__later *later, struct gw__later_entry entry)
{
    later->count++;
    heap_fill(later->entries, later->count, later->count - 1, entry, NULL);
}

bool gw__later_put(struct gw__later *later, uint64_t due_ns, zmq_msg_t *message)
{
    size_t bytes = zmq_msg_size(message);
    if (later->count == GW__LATER_MESSAGES ||
        later->bytes + bytes > GW__LATER_BYTES)
        return false;
    struct gw__later_entry entry = {due_ns, later->number++,
                                    later->entries[later->count].message};
    zmq_msg_init(entry.message);
    zmq_msg_move(entry.message, message);
    later->bytes += bytes;
    add_entry(later, entry);
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct gw__later_entry *first = a, *second = b;
    return (first->number > second->number) - (first->number < second->number);
}

unsigned gw__later_revise(struct gw__later *later,
                          uint64_t (*due)(void *context, zmq_msg_t *message),
                          void *context)
{
    struct gw__later_entry *entries = later->entries;
    unsigned count = later->count;
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_number);
    later->count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct gw__later_entry entry = entries[i];
        entry.due_ns = due(context, entry.message);
        if (entry.due_ns != UINT64_MAX) {
            entries[i] = entries[later->count];
            add_entry(later, entry);
        } else {
            later->bytes -= zmq_msg_size(entry.message);
            zmq_msg_close(entry.message);
        }
    }
    return count - later->count;
}

uint64_t gw__later_due(const struct gw__later *later)
{
    return later->count > 0 ? later->entries[0].due_ns : UINT64_MAX;
}

void gw__later_pop(struct gw__later *later, zmq_msg_t *message)
{
    assert(later->count > 0);
    struct gw__later_entry first = later->entries[0];
    later->bytes -= zmq_msg_size(first.message);
    zmq_msg_move(message, first.message);
    zmq_msg_close(first.message);
    later->count--;
    heap_fill(later->entries, later->count, 0, later->entries[later->count],
              NULL);
    later->entries[later->count] = first;
}
