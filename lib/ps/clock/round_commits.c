/* SPDX-License-Identifier: MIT
 *
 * Transfer of round commits from a group's clock to all slots.
 *
 * The clock's primary sends them to the primaries of all slots, repeatedly,
 * until each has reported that its slots have applied them. A slot's primary
 * appends them to the slot's log, in order and without gaps. Both sides only
 * report committed entries, so late or repeated messages are still true.
 *
 *     CLOSED  part 2: a count and round commits; without any it is a request
 *             for APPLIED
 *     APPLIED after the head: pairs of a slot and its newest round commit
 */
#include "ps/server/server_parts.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_COMMITS_PER_MESSAGE = 64 };

struct applied_record {
    uint32_t slot, pad;
    uint64_t closed;
};

/* The slot of the group's clock, if this server is its primary. */
static struct gw__slot *clock_here(const struct gw__server *server,
                                   unsigned group)
{
    if (server->routes.slot_count == 0)
        return NULL;
    unsigned number = gw__clock_slot(group, server->routes.slot_count);
    const struct gw__slot *slot = &server->slots[number];
    bool here =
        slot->role == GW_PS_PRIMARY && slot->clocks[group] && slot->fenced == 0;
    return here ? (struct gw__slot *)(uintptr_t)slot : NULL;
}

const struct gw__round_commit *
gw__round_commits_get(const struct gw__server *server, unsigned group,
                      uint64_t number)
{
    const struct gw__slot *clock = clock_here(server, group);
    if (clock)
        return gw__clock_round_commit(clock->clocks[group], number);
    const struct gw__round_commit_ring *ring = server->commits[group].ring;
    unsigned at = number % GW__ROUND_COMMITS_KEPT;
    return ring && ring->numbers[at] == number ? &ring->round_commits[at]
                                               : NULL;
}

void gw__round_commits_leadership(struct gw__server *server, unsigned group)
{
    struct gw__round_commits *commits = &server->commits[group];
    commits->applied_by_all = 0;
    memset(commits->reported, 0, sizeof commits->reported);
    memset(commits->applied, 0, sizeof commits->applied);
    memset(commits->sent, 0, sizeof commits->sent);
    memset(commits->sent_ns, 0, sizeof commits->sent_ns);
    server->clocks_changed |= 1U << group;
}

/* ---- the clock's side ---- */

static void read_own_slots(struct gw__server *server, unsigned group)
{
    struct gw__round_commits *commits = &server->commits[group];
    for (unsigned i = 0; i < server->held_count; i++) {
        unsigned s = server->held[i];
        if (server->slots[s].role == GW_PS_PRIMARY) {
            commits->applied[s] = server->slots[s].closed[group];
            commits->reported[s] = true;
        }
    }
}

uint64_t gw__round_commits_behind_all(struct gw__server *server, unsigned group)
{
    struct gw__round_commits *commits = &server->commits[group];
    uint64_t least = UINT64_MAX;
    read_own_slots(server, group);
    for (unsigned s = 0; s < server->routes.slot_count; s++)
        if (!commits->reported[s])
            return 0;
        else if (commits->applied[s] < least)
            least = commits->applied[s];
    return least;
}

/* The progress of the primaries of slots, by node, of members only. */
struct progress {
    uint64_t least[GW_PS_NODES]; /* of its slots; UINT64_MAX: it has none */
    bool unknown[GW_PS_NODES];   /* some have not reported */
};

/* In one pass over the slots, for all nodes. */
static void find_progress(const struct gw__server *server, unsigned group,
                          struct progress *progress)
{
    const struct gw__round_commits *commits = &server->commits[group];
    for (unsigned node = gw__nodes_next(&server->here, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&server->here, node + 1)) {
        progress->least[node] = UINT64_MAX;
        progress->unknown[node] = false;
    }
    for (unsigned s = 0; s < server->routes.slot_count; s++) {
        unsigned node = server->routes.slots[s].primary;
        if (node >= GW_PS_NODES || !server->ps_members[node].here)
            continue;
        progress->unknown[node] |= !commits->reported[s];
        if (commits->applied[s] < progress->least[node])
            progress->least[node] = commits->applied[s];
    }
}

static void send_closed(struct gw__server *server, unsigned group,
                        const struct gw__clock *clock, unsigned node,
                        uint64_t from)
{
    struct gw__ps_head head = {
        .magic = GW__PS_MAGIC, .kind = GW__PS_CLOSED, .group = (uint8_t)group};
    size_t room =
        2 + ROUND_COMMITS_PER_MESSAGE * (size_t)GW__ROUND_COMMIT_BYTES_MAX;
    void *data = malloc(room);
    if (!data)
        return;
    unsigned count = 0;
    while (from && count < ROUND_COMMITS_PER_MESSAGE &&
           gw__clock_round_commit(clock, from + count))
        count++;
    struct gw__writer writer = gw__writer_on(data, room);
    gw__put_u16(&writer, count);
    for (unsigned i = 0; i < count; i++)
        gw__put_round_commit(&writer, gw__clock_round_commit(clock, from + i));
    struct gw__message_out message = {.node = node, .part_count = 3};
    message.parts[0] = (struct gw__messenger_part){&head, sizeof head};
    message.parts[1] = (struct gw__messenger_part){"", 0};
    message.parts[2] = (struct gw__messenger_part){data, writer.used};
    if (count > 0)
        gw__failpoint(GW__AT_PS_ROUND_COMMIT);
    if (gw__writer_fits(&writer))
        gw__server_send(server, &message);
    if (count > 0)
        server->commits[group].sent[node] = from + count - 1;
    free(data);
}

static void notify_node(struct gw__server *server, uint64_t now_ns,
                        unsigned group, const struct gw__clock *clock,
                        unsigned node, const struct progress *progress)
{
    struct gw__round_commits *commits = &server->commits[group];
    uint64_t newest = gw__clock_closed(clock), least = progress->least[node];
    bool all_reported = !progress->unknown[node];
    if (newest == 0 || least == UINT64_MAX || (all_reported && least >= newest))
        return;
    bool late = now_ns - commits->sent_ns[node] >= server->config.resend_ns;
    uint64_t from = late || commits->sent[node] < least
                        ? least + 1
                        : commits->sent[node] + 1;
    if (!all_reported && !late)
        return;
    if (from > newest)
        return;
    send_closed(server, group, clock, node, all_reported ? from : 0);
    commits->sent_ns[node] = now_ns;
}

/* ---- the slots' side ---- */

void gw__on_closed(struct gw__server *server, uint64_t now_ns,
                   const struct gw__message_in *message,
                   const struct gw__ps_head *head)
{
    (void)now_ns;
    if (head->group >= GW_PS_GROUPS_MAX || message->part_count < 3)
        return;
    struct gw__round_commits *commits = &server->commits[head->group];
    if (!commits->ring && (commits->ring = malloc(sizeof *commits->ring)))
        memset(commits->ring->numbers, 0, sizeof commits->ring->numbers);
    struct gw__reader reader =
        gw__reader_on(message->parts[2].data, message->parts[2].bytes);
    unsigned count = gw__get_u16(&reader);
    for (unsigned i = 0; i < count && commits->ring; i++) {
        struct gw__round_commit commit;
        gw__get_round_commit(&reader, &commit);
        if (reader.bad)
            break;
        unsigned at = commit.number % GW__ROUND_COMMITS_KEPT;
        commits->ring->numbers[at] = commit.number;
        gw__round_commit_copy(&commits->ring->round_commits[at], &commit);
    }
    server->round_commits_changed |= 1U << head->group;
    for (unsigned i = 0; i < server->held_count; i++) {
        struct gw__slot *slot = &server->slots[server->held[i]];
        slot->report_due |= slot->role == GW_PS_PRIMARY;
    }
}

static void report_applied(struct gw__server *server, unsigned group)
{
    struct {
        struct gw__ps_head head;
        struct applied_record records[GW_PS_SLOTS_MAX];
    } out; /* as many records as are due */
    out.head = (struct gw__ps_head){
        .magic = GW__PS_MAGIC, .kind = GW__PS_APPLIED, .group = (uint8_t)group};
    unsigned clock = gw__clock_slot(group, server->routes.slot_count);
    unsigned node = server->routes.slots[clock].primary, count = 0;
    for (unsigned i = 0; i < server->held_count; i++) {
        const struct gw__slot *slot = &server->slots[server->held[i]];
        if (slot->report_due)
            out.records[count++] =
                (struct applied_record){slot->number, 0, slot->closed[group]};
    }
    out.head.segments = count;
    if (count == 0 || node >= GW_PS_NODES || node == server->config.node ||
        !server->commits[group].ring)
        return;
    struct gw__message_out message = {.node = node, .part_count = 1};
    message.parts[0] = (struct gw__messenger_part){
        &out, sizeof out.head + count * sizeof *out.records};
    gw__server_send(server, &message);
}

void gw__on_applied(struct gw__server *server, uint64_t now_ns,
                    const struct gw__message_in *message,
                    const struct gw__ps_head *head)
{
    (void)now_ns;
    const struct applied_record *records = (const void *)(head + 1);
    if (head->group >= GW_PS_GROUPS_MAX || head->segments > GW_PS_SLOTS_MAX ||
        message->parts[0].bytes !=
            sizeof *head + head->segments * sizeof *records)
        return;
    struct gw__round_commits *commits = &server->commits[head->group];
    for (unsigned i = 0; i < head->segments; i++) {
        unsigned slot = records[i].slot;
        if (slot >= GW_PS_SLOTS_MAX)
            return;
        commits->reported[slot] = true;
        if (records[i].closed > commits->applied[slot])
            commits->applied[slot] = records[i].closed;
    }
}

/* ---- both sides ---- */

/* Have all slots applied all round commits? The answer is cached, since it is
 * needed often. */
static bool is_applied_everywhere(struct gw__server *server, unsigned group,
                                  const struct gw__clock *clock)
{
    uint64_t newest = gw__clock_closed(clock);
    uint64_t *by_all = &server->commits[group].applied_by_all;
    if (*by_all < newest)
        *by_all = gw__round_commits_behind_all(server, group);
    return *by_all >= newest;
}

void gw__round_commits_flush(struct gw__server *server, uint64_t now_ns)
{
    bool due = false;
    struct progress progress;
    for (unsigned i = 0; i < server->held_count; i++)
        due |= server->slots[server->held[i]].report_due;
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        struct gw__slot *slot = clock_here(server, g);
        if (due && !slot && server->routes.slot_count > 0)
            report_applied(server, g);
        if (!slot || is_applied_everywhere(server, g, slot->clocks[g]))
            continue;
        find_progress(server, g, &progress);
        for (unsigned node = gw__nodes_next(&server->here, 0);
             node < GW__NODES_MAX;
             node = gw__nodes_next(&server->here, node + 1))
            if (node != server->config.node)
                notify_node(server, now_ns, g, slot->clocks[g], node,
                            &progress);
    }
    for (unsigned i = 0; due && i < server->held_count; i++)
        server->slots[server->held[i]].report_due = false;
}

bool gw__round_commits_busy(struct gw__server *server)
{
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
        struct gw__slot *slot = clock_here(server, g);
        if (slot && !is_applied_everywhere(server, g, slot->clocks[g]))
            return true;
    }
    return false;
}
