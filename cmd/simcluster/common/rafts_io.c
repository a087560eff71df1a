/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libraft's back end in a simulated controller. Messages go to the simulated
 * network as numbers of frames, stores go to the simulated disk, and libraft's
 * requests are completed at the end of the step (rafts.c).
 */
#include "rafts_memory.h"
#include "rafts_parts.h"

#include <cluster/raft/raft_message.h>
#include <gradwire/ring.h>

#include <stdio.h>
#include <string.h>

enum { ELECTION_MS = 150, FRAME_BYTES = 1 << 18 };

/* ---- libraft's back end ---- */

static struct raft_node *raft_node_of(struct raft_io *io)
{
    return io->impl;
}

static int init_io(struct raft_io *io, raft_id id, const char *address)
{
    (void)io;
    (void)id;
    (void)address;
    return 0;
}

static int start_io(struct raft_io *io, unsigned period_ms,
                    raft_io_tick_cb tick, raft_io_recv_cb receive)
{
    (void)period_ms;
    raft_node_of(io)->tick = tick;
    raft_node_of(io)->receive = receive;
    return 0;
}

static int load_state(struct raft_io *io, raft_term *term, raft_id *vote,
                      struct raft_snapshot **snapshot, raft_index *start,
                      struct raft_entry **entries, size_t *count)
{
    *snapshot = NULL;
    *start = 1;
    return rafts_disk_load(&raft_node_of(io)->disk, term, vote, entries, count);
}

static int bootstrap(struct raft_io *io, const struct raft_configuration *conf)
{
    return rafts_disk_bootstrap(&raft_node_of(io)->disk, conf);
}

static int set_term(struct raft_io *io, raft_term term)
{
    raft_node_of(io)->disk.term = term;
    raft_node_of(io)->disk.vote = 0;
    return 0;
}

/* As lib/cluster/controller/controller_events.c does for real controllers. */
void rafts_report(const struct raft_node *n, enum gw_event_kind kind,
                  unsigned peer, uint64_t value)
{
    enum { CONTROLLER_NODE = GW_RING_CONTROLLER };
    const struct sim_consensus *a = n->rafts->consensus;
    const struct gw_event event = {
        .kind = kind,
        .value = (int64_t)value,
        .rank = CONTROLLER_NODE - (n->node - a->first),
        .peer = peer < a->controllers ? CONTROLLER_NODE - peer : GW_NONE,
        .epoch = GW_NONE,
        .op = GW_NONE,
        .step = GW_NONE,
        .chunk = GW_NONE};
    a->on_event(a->context, &event);
}

static int set_vote(struct raft_io *io, raft_id vote)
{
    struct raft_node *n = raft_node_of(io);
    n->disk.vote = vote;
    if (vote)
        rafts_report(n, GW_EV_VOTE, (unsigned)vote - 1, n->disk.term);
    return 0;
}

static int await(struct raft_node *n, const struct waiting *waiting)
{
    if (n->waiting_count == WAITING_MOST)
        return RAFT_NOMEM;
    n->waiting[n->waiting_count++] = *waiting;
    return 0;
}

static int append_entries(struct raft_io *io, struct raft_io_append *request,
                          const struct raft_entry entries[], unsigned count,
                          raft_io_append_cb done)
{
    struct raft_node *n = raft_node_of(io);
    int failed = rafts_disk_append(&n->disk, entries, count);
    return failed ? failed
                  : await(n, &(struct waiting){.append = request,
                                               .appended = done});
}

static int truncate_from(struct raft_io *io, raft_index index)
{
    rafts_disk_truncate(&raft_node_of(io)->disk, index);
    return 0;
}

static bool put_frame(struct rafts *rafts, const struct raft_message *message,
                      uint32_t *number)
{
    bool whole;
    uint8_t *data = raft_malloc(FRAME_BYTES);
    size_t bytes =
        data ? gw__raft_message_encode(message, data, FRAME_BYTES, &whole) : 0;
    if (bytes == 0)
        return false;
    rafts_memory_shrink(data, bytes);
    *number = rafts->frame_count++;
    rafts->frames[*number % FRAMES_MOST] = (struct frame){bytes, data};
    return true;
}

static int send_message(struct raft_io *io, struct raft_io_send *request,
                        const struct raft_message *message,
                        raft_io_send_cb done)
{
    struct raft_node *n = raft_node_of(io);
    uint8_t out[1 + sizeof(uint32_t)] = {RAFTS_MESSAGE};
    uint32_t number;
    if (!put_frame(n->rafts, message, &number)) {
        gw__sim_fail(n->rafts->consensus->sim, "a frame of the log");
        return RAFT_NOMEM;
    }
    memcpy(out + 1, &number, sizeof number);
    unsigned to = n->rafts->consensus->first + (unsigned)message->server_id - 1;
    n->act->send(n->act->driver, to, out, sizeof out);
    return await(n, &(struct waiting){.send = request, .sent = done});
}

static raft_time time_ms(struct raft_io *io)
{
    return raft_node_of(io)->now_ns / 1000000;
}

static int draw_timeout(struct raft_io *io, int min, int max)
{
    struct raft_node *n = raft_node_of(io);
    return max > min ? min + (int)gw_rng_below(&n->rng, (uint64_t)(max - min))
                     : min;
}

/* ---- committed ---- */

static int apply_entry(struct raft_fsm *fsm, const struct raft_buffer *buf,
                       void **result)
{
    struct raft_node *n = fsm->data;
    const uint8_t *data = buf->base;
    uint64_t bytes;
    *result = NULL;
    memcpy(&bytes, data, sizeof bytes);
    bool again = ++n->applied <= n->known;
    sim_consensus_committed(n->rafts->consensus, n->node, n->applied,
                            data + sizeof bytes, bytes);
    n->known = again ? n->known : n->applied;
    if (!again)
        rafts_report(n, GW_EV_COMMIT, GW_NONE, n->applied);
    return 0;
}

/* ---- a life ---- */

const char *rafts_address(unsigned index)
{
    static char addresses[GW__NODES_MAX][4];
    snprintf(addresses[index], sizeof *addresses, "%u", index % 100);
    return addresses[index];
}

static int configure(struct raft_configuration *conf, unsigned count)
{
    raft_configuration_init(conf);
    for (unsigned i = 0; i < count; i++) {
        int failed =
            raft_configuration_add(conf, i + 1, rafts_address(i), RAFT_VOTER);
        if (failed)
            return failed;
    }
    return 0;
}

static int begin_raft(struct raft_node *n, const struct sim_consensus *a)
{
    struct raft_configuration conf;
    unsigned index = n->node - a->first;
    int failed =
        raft_init(&n->raft, &n->io, &n->fsm, index + 1, rafts_address(index));
    if (failed)
        return failed;
    raft_set_election_timeout(&n->raft, ELECTION_MS);
    raft_set_heartbeat_timeout(&n->raft, RAFTS_HEARTBEAT_MS);
    raft_set_snapshot_threshold(&n->raft, UINT32_MAX);
    raft_set_pre_vote(&n->raft, true);
    failed = n->disk.count ? 0 : configure(&conf, a->controllers);
    if (!failed && !n->disk.count)
        failed = raft_bootstrap(&n->raft, &conf);
    return failed ? failed : raft_start(&n->raft);
}

int rafts_start(struct raft_node *n, uint64_t seed)
{
    n->io = (struct raft_io){.version = 1,
                             .impl = n,
                             .init = init_io,
                             .load = load_state,
                             .start = start_io,
                             .bootstrap = bootstrap,
                             .set_term = set_term,
                             .set_vote = set_vote,
                             .send = send_message,
                             .append = append_entries,
                             .truncate = truncate_from,
                             .time = time_ms,
                             .random = draw_timeout};
    n->fsm = (struct raft_fsm){.version = 1, .data = n, .apply = apply_entry};
    n->leader = GW__NODES_MAX;
    n->applied = n->delivered = n->waiting_count = 0;
    n->proposed = NULL;
    n->proposed_end = &n->proposed;
    gw_rng_seed(&n->rng, seed);
    if (n->rafts->break_disks && n->disk.count > 1) {
        rafts_disk_truncate(&n->disk, n->disk.count / 2 + 1);
        n->disk.vote = 0;
    }
    return begin_raft(n, n->rafts->consensus);
}
