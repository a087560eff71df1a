/* SPDX-License-Identifier: MIT
 *
 * Messages that are here and not yet due: a binary heap of bounded size. The
 * number of arrival decides between equal times, so that links keep their
 * order. The messages themselves do not move in memory (libzmq forbids it);
 * each entry has one of them, whether it is used or not.
 */
#include "mesh_parts.h"

#include <assert.h>
#include <stdlib.h>

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

static bool is_before(const struct gw__later_entry *a,
                      const struct gw__later_entry *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns
                                  : a->number < b->number;
}

static void swap(struct gw__later_entry *a, struct gw__later_entry *b)
{
    struct gw__later_entry kept = *a;
    *a = *b;
    *b = kept;
}

static void rise(struct gw__later_entry *entries, unsigned i)
{
    while (i > 0 && is_before(&entries[i], &entries[(i - 1) / 2])) {
        swap(&entries[i], &entries[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sink(struct gw__later_entry *entries, unsigned count)
{
    unsigned i = 0, child;
    while ((child = 2 * i + 1) < count) {
        if (child + 1 < count &&
            is_before(&entries[child + 1], &entries[child]))
            child++;
        if (!is_before(&entries[child], &entries[i]))
            return;
        swap(&entries[child], &entries[i]);
        i = child;
    }
}

bool gw__later_put(struct gw__later *later, uint64_t due_ns, zmq_msg_t *message)
{
    size_t bytes = zmq_msg_size(message);
    if (later->count == GW__LATER_MESSAGES ||
        later->bytes + bytes > GW__LATER_BYTES)
        return false;
    struct gw__later_entry *entry = &later->entries[later->count];
    entry->due_ns = due_ns;
    entry->number = later->number++;
    zmq_msg_init(entry->message);
    zmq_msg_move(entry->message, message);
    later->bytes += bytes;
    rise(later->entries, later->count++);
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
        zmq_msg_t *message = entries[i].message;
        entries[i].due_ns = due(context, message);
        if (entries[i].due_ns != UINT64_MAX) {
            swap(&entries[later->count], &entries[i]);
            rise(entries, later->count++);
        } else {
            later->bytes -= zmq_msg_size(message);
            zmq_msg_close(message);
        }
    }
    return count - later->count;
}

uint64_t gw__later_due(const struct gw__later *later)
{
    return later->count > 0 ? later->entries[0].due_ns : UINT64_MAX;
}

void gw__later_take(struct gw__later *later, zmq_msg_t *message)
{
    assert(later->count > 0);
    zmq_msg_t *earliest = later->entries[0].message;
    later->bytes -= zmq_msg_size(earliest);
    zmq_msg_move(message, earliest);
    zmq_msg_close(earliest);
    swap(&later->entries[0], &later->entries[--later->count]);
    sink(later->entries, later->count);
}
