/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node's status in a message, and copies of it. The struct has room for all
 * slots and for the workers of every clock, of which a run uses few. So it is
 * handled as sections: the used part of each array, and the bytes between them.
 * The counts of a section are in an earlier one.
 */
#include "child_channel.h"

#include <stddef.h>
#include <string.h>

struct section {
    size_t offset, bytes;
};

enum { SERVER = offsetof(struct node_status, server) };

static struct section between(size_t offset, size_t end)
{
    return (struct section){offset, end - offset};
}

static unsigned at_most(unsigned count, unsigned most)
{
    return count < most ? count : most;
}

/* The head of a clock, its workers, and its end. */
static struct section clock_section(const struct node_status *status,
                                    unsigned group, unsigned part)
{
    const struct gw_ps_clock_status *clock = &status->server.clocks[group];
    size_t begin = SERVER + offsetof(struct gw_ps_server_status, clocks) +
                   group * sizeof *clock;
    size_t workers = begin + offsetof(struct gw_ps_clock_status, workers);
    unsigned count = at_most(clock->worker_count, GW_PS_NODES);
    return part == 0 ? between(begin, workers)
           : part == 1
               ? (struct section){workers, count * sizeof *clock->workers}
               : between(workers + sizeof clock->workers,
                         begin + sizeof *clock);
}

/* Section `i`; false: there are no more. */
static bool section_at(const struct node_status *status, unsigned i,
                       struct section *section)
{
    enum { CLOCKS = 3, END = CLOCKS + 3 * GW_PS_GROUPS_MAX };
    size_t slots = SERVER + offsetof(struct gw_ps_server_status, slots);
    size_t clocks = SERVER + offsetof(struct gw_ps_server_status, clocks);
    unsigned count = at_most(status->server.slot_count, GW_PS_SLOTS_MAX);
    if (i == 0)
        *section = between(0, slots);
    else if (i == 1)
        *section =
            (struct section){slots, count * sizeof *status->server.slots};
    else if (i == 2)
        *section = between(slots + sizeof status->server.slots, clocks);
    else if (i < END)
        *section = clock_section(status, (i - CLOCKS) / 3, (i - CLOCKS) % 3);
    else
        *section =
            between(clocks + sizeof status->server.clocks, sizeof *status);
    return i <= END;
}

void node_status_copy(struct node_status *to, const struct node_status *from)
{
    struct section s;
    for (unsigned i = 0; section_at(from, i, &s); i++)
        memcpy((char *)to + s.offset, (const char *)from + s.offset, s.bytes);
}

size_t node_status_pack(const struct node_status *status,
                        char out[CHILD_CHANNEL_BYTES_MAX])
{
    struct section s;
    size_t used = 0;
    for (unsigned i = 0; section_at(status, i, &s); i++) {
        if (s.bytes > CHILD_CHANNEL_BYTES_MAX - used)
            return 0;
        memcpy(out + used, (const char *)status + s.offset, s.bytes);
        used += s.bytes;
    }
    return used;
}

bool node_status_unpack(const char *data, size_t bytes,
                        struct node_status *status)
{
    struct section s;
    size_t used = 0;
    for (unsigned i = 0; section_at(status, i, &s); i++) {
        if (s.bytes > bytes - used)
            return false;
        memcpy((char *)status + s.offset, data + used, s.bytes);
        used += s.bytes;
    }
    return used == bytes;
}

enum gw_err child_channel_send_status(int fd, const struct node_status *status,
                                      bool wait)
{
    static char packed[CHILD_CHANNEL_BYTES_MAX]; /* one thread sends */
    size_t bytes = node_status_pack(status, packed);
    return bytes ? child_channel_send(fd, CHILD_CHANNEL_STATUS, packed, bytes,
                                      wait)
                 : GW_EINVAL;
}
