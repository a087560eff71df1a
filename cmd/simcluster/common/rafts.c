/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A controller whose log is libraft's; see rafts.h. Its step:
 *
 *     start      an instance, from the disk
 *     timer      libraft's tick
 *     message    from another instance, or for the service
 *     then, until nothing is left: libraft's requests are completed, its
 *     committed entries go to the service, the service's proposals to libraft
 *
 * A crash leaves the instance as it is: the next START makes another one.
 */
#include "rafts_memory.h"
#include "rafts_parts.h"

#include <cluster/raft/raft_message.h>

#include <stdlib.h>
#include <string.h>

enum { TIMER = 63 };

/* As in sim_consensus.c: START cannot contain it. */
static struct rafts *running;

/* ---- the rest of a step ---- */

static bool end_waiting(struct raft_node *n)
{
    unsigned count = n->waiting_count;
    for (unsigned i = 0; i < count; i++) {
        const struct waiting w = n->waiting[i];
        if (w.append)
            w.appended(w.append, 0);
        else
            w.sent(w.send, 0);
    }
    n->waiting_count -= count;
    memmove(n->waiting, n->waiting + count,
            n->waiting_count * sizeof *n->waiting);
    return count > 0;
}

static void applied_here(struct raft_apply *request, int status, void *result)
{
    (void)status;
    (void)result;
    raft_free(request);
}

static void passed(struct raft_barrier *request, int status)
{
    (void)status;
    raft_free(request);
}

/* Its length goes first, since libraft's entries are a multiple of 8 bytes. */
static int append_proposal(struct raft_node *n, const struct proposal *p)
{
    const uint64_t bytes = p->bytes;
    struct raft_apply *request = raft_malloc(sizeof *request);
    struct raft_buffer buf = {.len = sizeof bytes + (bytes + 7) / 8 * 8};
    buf.base = raft_calloc(1, buf.len);
    if (!request || !buf.base)
        return RAFT_NOMEM;
    memcpy(buf.base, &bytes, sizeof bytes);
    memcpy((uint8_t *)buf.base + sizeof bytes, p->data, bytes);
    return raft_apply(&n->raft, request, &buf, 1, applied_here);
}

/* As in lib/cluster/raft/raft_log.c: only a leader's proposals are appended.
 * Others are lost, and proposed again. */
static bool pop_proposal(struct raft_node *n)
{
    struct proposal *p = n->proposed;
    if (!p)
        return false;
    n->proposed = p->next;
    if (!n->proposed)
        n->proposed_end = &n->proposed;
    if (raft_state(&n->raft) == RAFT_LEADER)
        (void)append_proposal(n, p);
    return true;
}

void rafts_propose(struct rafts *rafts, unsigned node, const void *data,
                   size_t bytes)
{
    struct raft_node *n = &rafts->nodes[node];
    struct proposal *p = raft_malloc(sizeof *p + bytes);
    if (!p)
        return;
    p->next = NULL;
    p->bytes = bytes;
    memcpy(p->data, data, bytes);
    *n->proposed_end = p;
    n->proposed_end = &p->next;
}

/* ---- the machine ---- */

struct raft_controller {
    unsigned node;
    _Alignas(16) uint8_t service[];
};

static void forward_request(struct raft_controller *c,
                            const struct raft_node *n, const uint8_t *data,
                            size_t bytes)
{
    const struct gw__input input = {.kind = GW__REQUESTED,
                                    .now_ns = n->now_ns,
                                    .from = c->node,
                                    .data = data,
                                    .bytes = bytes};
    gw__service_machine.step(c->service, &input, n->act);
}

static bool deliver_entry(struct raft_controller *c, struct raft_node *n)
{
    static uint8_t out[GW__SERVICE_REQUEST_MAX];
    if (n->delivered == n->applied)
        return false;
    const struct sim_consensus_entry *entry =
        &n->rafts->consensus->entries[n->delivered++];
    forward_request(c, n, out,
                    gw__service_request_applied(out, n->delivered, entry->data,
                                                entry->bytes));
    return true;
}

static bool report_leader(struct raft_controller *c, struct raft_node *n)
{
    uint8_t out[GW__SERVICE_REQUEST_MAX];
    const char *address;
    raft_id id;
    raft_leader(&n->raft, &id, &address);
    struct sim_consensus *a = n->rafts->consensus;
    unsigned leader = id ? a->first + (unsigned)id - 1 : GW__NODES_MAX;
    if (leader == n->leader)
        return false;
    n->leader = leader;
    if (leader == n->node) {
        struct raft_barrier *request = raft_malloc(sizeof *request);
        a->leader = leader;
        rafts_report(n, GW_EV_LEADER, GW_NONE, n->raft.current_term);
        if (request && raft_barrier(&n->raft, request, passed))
            raft_free(request);
    }
    forward_request(c, n, out, gw__service_request_leader(out, leader));
    return true;
}

static void run_until_quiet(struct raft_controller *c, struct raft_node *n)
{
    bool more = true;
    while (more) {
        more = end_waiting(n);
        more |= report_leader(c, n);
        more |= deliver_entry(c, n);
        more |= pop_proposal(n);
    }
}

static void set_timer(const struct raft_node *n)
{
    n->act->set_timer(n->act->driver, TIMER,
                      n->now_ns + (uint64_t)RAFTS_HEARTBEAT_MS / 2 * 1000000);
}

static void receive_message(struct raft_node *n, const struct gw__input *input)
{
    struct raft_message message;
    struct gw_error why;
    uint32_t number;
    const struct sim_consensus *a = n->rafts->consensus;
    memcpy(&number, (const uint8_t *)input->data + 1, sizeof number);
    const struct frame *frame = &n->rafts->frames[number % FRAMES_MOST];
    unsigned index = input->from - a->first;
    if (gw__raft_message_decode(frame->data, frame->bytes, &message, &why)) {
        gw__sim_fail(a->sim, "%s", why.text);
        return;
    }
    message.server_id = index + 1;
    message.server_address = rafts_address(index);
    n->receive(&n->io, &message);
}

static void start_service(struct raft_controller *c,
                          const struct gw__input *input,
                          const struct gw__actions *act)
{
    struct gw__service_config config = {
        .node = input->from, .incarnation = {7, 0}, .endpoint = "sim"};
    struct gw__input machine = *input;
    c->node = input->from;
    machine.data = &config;
    machine.bytes = sizeof config;
    gw__service_machine.step(c->service, &machine, act);
}

static void start_log(struct raft_node *n, uint64_t seed)
{
    const struct sim_consensus *a = n->rafts->consensus;
    int failed = rafts_start(n, seed);
    if (failed)
        gw__sim_fail(a->sim, "controller %u: %s", n->node - a->first,
                     raft_strerror(failed));
}

static bool is_of_log(const struct gw__input *input)
{
    return input->kind == GW__MESSAGE && input->bytes == 1 + sizeof(uint32_t) &&
           *(const uint8_t *)input->data == RAFTS_MESSAGE;
}

static void step_controller(void *state, const struct gw__input *input,
                            const struct gw__actions *act)
{
    struct raft_controller *c = state;
    if (input->kind == GW__START)
        start_service(c, input, act);
    struct raft_node *n = &running->nodes[c->node];
    n->now_ns = input->now_ns;
    n->act = act;
    if (input->kind == GW__START) {
        start_log(n, input->seed);
        set_timer(n);
    } else if (input->kind == GW__TIMER && input->timer == TIMER) {
        n->tick(&n->io);
        set_timer(n);
    } else if (is_of_log(input)) {
        receive_message(n, input);
    } else {
        gw__service_machine.step(c->service, input, act);
    }
    run_until_quiet(c, n);
}

static void clear_controller(void *state)
{
    struct raft_controller *c = state;
    memset(c, 0, sizeof *c);
    gw__service_machine.clear(c->service);
}

const struct gw__machine_kind *raft_controller_kind(void)
{
    static struct gw__machine_kind kind = {.name = "controller",
                                           .step = step_controller,
                                           .clear = clear_controller};
    kind.state_bytes =
        sizeof(struct raft_controller) + gw__service_machine.state_bytes;
    return &kind;
}

/* ---- all controllers ---- */

enum gw_err rafts_open(struct rafts **rafts, struct gw_error *why)
{
    *rafts = calloc(1, sizeof **rafts);
    if (!*rafts)
        return gw_fail(why, GW_ENOMEM, "the controllers' logs");
    rafts_memory_begin();
    return GW_OK;
}

void rafts_break_disks(struct rafts *rafts)
{
    rafts->break_disks = true;
}

static void forget_disks(struct rafts *rafts)
{
    for (unsigned i = 0; i < GW__NODES_MAX; i++) {
        rafts_disk_clear(&rafts->nodes[i].disk);
        rafts->nodes[i].known = 0;
    }
    rafts_memory_reset();
    rafts->frame_count = 0;
}

void rafts_close(struct rafts **rafts)
{
    if (!*rafts)
        return;
    forget_disks(*rafts);
    rafts_memory_end();
    free(*rafts);
    *rafts = NULL;
}

void rafts_begin(struct rafts *rafts, struct sim_consensus *consensus)
{
    forget_disks(rafts);
    running = rafts;
    rafts->consensus = consensus;
    for (unsigned i = 0; i < GW__NODES_MAX; i++) {
        rafts->nodes[i].rafts = rafts;
        rafts->nodes[i].node = i;
        rafts->nodes[i].proposed = NULL;
        rafts->nodes[i].proposed_end = &rafts->nodes[i].proposed;
    }
}
