/* SPDX-License-Identifier: MIT
 *
 * Messages between ranks other than data, and the detection of losses.
 *
 *            goodbye                      all slices taken
 *   UP ----------------> CLOSED --------------------------> (GW_ECLOSED)
 *    |                      |  too few had come
 *    |  lost                v
 *    +-------------------> LOST
 *
 * Notes use the queue pair, so a goodbye arrives after the data, and an abort
 * after the slices in flight, for which the peer need not read. A peer is lost
 * when
 *
 *   the connection ended without a goodbye   its process died: the kernel
 *                                            reports it
 *   a request completed with an error        no answer: its host died
 *   its process ended (pidfd)                where a forked child keeps all
 *                                            connections open
 *
 * On an idle link an empty write probes the peer now and then. The peer's
 * device acknowledges it, even while its process is stopped. iWARP does not
 * acknowledge writes, and TCP below it waits for many minutes. There an empty
 * read probes the peer, which its device answers too; a peer that owes the
 * answer for some seconds is lost.
 */
#include "verbs.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* How long a dead process's connection may stay open before the peer is lost.
 */
static const uint64_t held_open_ns = 100 * 1000000U;
static const uint64_t probe_ns = 500 * 1000000U;
/* How long an answer may take over iWARP; elsewhere the device gives up. */
static const uint64_t patience_ns = 5 * 1000000000ULL;
/* How long to wait for the next posted request to arrive, and for all of them,
 * before the queue pairs are destroyed. */
static const uint64_t last_words_ns = 200 * 1000000U;
static const uint64_t all_words_ns = 1000 * 1000000U;

enum gw_err gw__verbs_lose(struct gw__verbs *verbs, unsigned peer,
                           const char *fact)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    if (link->state != GW__VERBS_LOST) {
        link->state = GW__VERBS_LOST;
        verbs->state_changed = true;
        if (link->id && link->id->qp)
            rdma_disconnect(link->id); /* returns the posted requests */
    }
    if (!verbs->error.code)
        gw_fail(&verbs->error, GW_ELOST, "rank %u lost: %s", peer, fact);
    return GW_ELOST;
}

bool gw__verbs_lost(struct gw__wire *wire, unsigned peer)
{
    return gw__verbs_of(wire)->links[peer].state == GW__VERBS_LOST;
}

/* ---- notes ---- */

bool gw__verbs_notify(struct gw__verbs *verbs, unsigned peer,
                      struct gw__control_message *control)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    bool last = control->kind == GW__GOODBYE || control->kind == GW__ABORT;
    unsigned place = 0;
    if (link->busy_controls + (last ? 0 : GW__VERBS_CONTROLS_KEPT) >=
        GW__VERBS_CONTROLS)
        return false;
    while (link->control_busy[place])
        place++;
    control->from = verbs->wire.rank;
    control->to = peer;
    size_t bytes = gw__control_seal(control);
    memcpy(link->controls + (size_t)place * GW__VERBS_CONTROL_ROOM, control,
           bytes);
    if (gw__verbs_post_control(verbs, peer, place, bytes) != 0)
        return false;
    link->control_busy[place] = true;
    link->busy_controls++;
    return true;
}

static void apply_credit(struct gw__verbs *verbs, unsigned peer, uint64_t count)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    if (count < link->released_by_peer || count > link->sent) {
        gw__verbs_lose(verbs, peer, "credit for slices that were not sent");
        return;
    }
    link->released_by_peer = count;
    link->out_changed = true;
}

static void apply_control(struct gw__verbs *verbs, unsigned peer,
                          const struct gw__control_message *control)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    switch ((enum gw__control_kind)control->kind) {
    case GW__CREDIT:
        apply_credit(verbs, peer, control->count);
        break;
    case GW__GOODBYE:
        link->state = GW__VERBS_CLOSED;
        link->due = control->count;
        link->in_changed = link->out_changed = true;
        break;
    case GW__ABORT:
        if (verbs->over || verbs->abort_reported)
            break;
        gw_fail(&verbs->error, (enum gw_err)control->code, "%s", control->text);
        verbs->abort_reported = verbs->wire.aborted_by_peer =
            verbs->state_changed = true;
        break;
    case GW__HELLO:
        gw__verbs_receive_hello(verbs, peer);
        break;
    }
}

void gw__verbs_receive_control(struct gw__verbs *verbs, unsigned peer,
                               const void *message, size_t bytes)
{
    struct gw__control_message control;
    struct gw_error fault;
    if (verbs->links[peer].state != GW__VERBS_UP)
        return;
    if (gw__control_read(message, bytes, peer, verbs->wire.rank, &control,
                         &fault))
        gw__verbs_lose(verbs, peer, fault.text);
    else
        apply_control(verbs, peer, &control);
}

/* ---- losses ---- */

void gw__verbs_receive_ends(struct gw__verbs *verbs)
{
    int rank;
    while ((rank = gw__process_watch_poll(&verbs->process_watch)) >= 0)
        verbs->links[rank].ended_ns = gw_now_ns();
}

/* Probes a link that has been silent since the last look. */
static void probe_link(struct gw__verbs *verbs, unsigned peer, uint64_t now_ns)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    if (link->signs != link->signs_seen || !link->sign_ns) {
        link->signs_seen = link->signs;
        link->sign_ns = now_ns;
    }
    uint64_t silent_ns = now_ns - link->sign_ns;
    if (link->probing && verbs->iwarp && silent_ns > patience_ns)
        gw__verbs_lose(verbs, peer, "its host does not answer");
    if (link->probing || silent_ns < probe_ns)
        return;
    link->probing = gw__verbs_post_probe(verbs, peer) == 0;
    link->sign_ns = now_ns;
}

static void check_link(struct gw__verbs *verbs, unsigned peer, uint64_t now_ns)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    if (link->state != GW__VERBS_UP || !link->joined || verbs->over)
        return;
    if (link->disconnected)
        gw__verbs_lose(verbs, peer, "its connection ended");
    else if (link->ended_ns && now_ns - link->ended_ns > held_open_ns)
        gw__verbs_lose(verbs, peer, "its process ended");
    else
        probe_link(verbs, peer, now_ns);
}

enum gw_err gw__verbs_check(struct gw__wire *wire, struct gw_error *why)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    gw__verbs_receive_events(verbs);
    gw__verbs_receive_ends(verbs);
    gw__verbs_progress(verbs); /* after the events: completions before them */
    gw__verbs_drop_freed(verbs);
    uint64_t now_ns = gw_now_ns();
    for (unsigned r = 0; r < wire->size; r++)
        if (r != wire->rank)
            check_link(verbs, r, now_ns);
    if (!verbs->error.code)
        return GW_OK;
    return gw_fail(why, verbs->error.code, "%s", verbs->error.text);
}

/* ---- the end ---- */

/* The requests that were posted to peers and have not arrived. */
static uint64_t count_leaving(const struct gw__verbs *verbs)
{
    uint64_t count = 0;
    for (unsigned r = 0; r < verbs->wire.size; r++) {
        const struct gw__verbs_link *link = &verbs->links[r];
        if (r != verbs->wire.rank && link->joined &&
            link->state != GW__VERBS_LOST && !link->disconnected)
            count += link->sent - link->completed + link->busy_controls;
    }
    return count;
}

/* Until all posted requests have arrived, no more do, or the time is up. Only
 * the peers' devices are needed, not their processes. */
static void await_arrival(struct gw__verbs *verbs)
{
    uint64_t begin = gw_now_ns(), arrived = begin, least = UINT64_MAX;
    for (;;) {
        gw__verbs_receive_events(verbs);
        gw__verbs_progress(verbs);
        uint64_t now = gw_now_ns(), leaving = count_leaving(verbs);
        if (leaving < least) {
            least = leaving;
            arrived = now;
        }
        if (!leaving || now - arrived >= last_words_ns ||
            now - begin >= all_words_ns)
            return;
        gw__verbs_doze(verbs, last_words_ns - (now - arrived));
    }
}

/* A destroyed queue pair reads no buffers. */
static void destroy_queue(struct gw__verbs_link *link)
{
    if (!link->id || !link->id->qp)
        return;
    rdma_disconnect(link->id);
    rdma_destroy_qp(link->id);
    link->completed = link->sent;
}

/* A rank that learns of an abort passes it on before it closes, so that no peer
 * takes the closing for the cause. When this returns, lent buffers are no
 * longer read: the user of the failed call may free them. */
void gw__verbs_end_all(struct gw__verbs *verbs)
{
    struct gw__control_message control = {.kind = GW__ABORT,
                                          .code = (int32_t)verbs->error.code};
    memcpy(control.text, verbs->error.text, sizeof control.text);
    verbs->over = true;
    for (unsigned r = 0; r < verbs->wire.size; r++) {
        struct gw__verbs_link *link = &verbs->links[r];
        if (r != verbs->wire.rank && link->joined &&
            link->state == GW__VERBS_UP)
            (void)gw__verbs_notify(verbs, r, &control);
    }
    await_arrival(verbs);
    for (unsigned r = 0; r < verbs->wire.size; r++)
        if (r != verbs->wire.rank &&
            verbs->links[r].completed != verbs->links[r].sent)
            destroy_queue(&verbs->links[r]);
}

void gw__verbs_abort(struct gw__wire *wire, const struct gw_error *error)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    if (verbs->over)
        return;
    verbs->error = *error;
    gw__verbs_end_all(verbs);
}

void gw__verbs_close(struct gw__wire *wire)
{
    struct gw__verbs *verbs = gw__verbs_of(wire);
    for (unsigned r = 0; r < wire->size && !verbs->over; r++) {
        struct gw__verbs_link *link = &verbs->links[r];
        struct gw__control_message goodbye = {.kind = GW__GOODBYE,
                                              .count = link->sent};
        if (r != wire->rank && link->joined && link->state == GW__VERBS_UP)
            (void)gw__verbs_notify(verbs, r, &goodbye);
    }
    if (!verbs->over)
        await_arrival(verbs);
    for (unsigned r = 0; r < wire->size; r++)
        if (r != wire->rank)
            destroy_queue(&verbs->links[r]);
    gw__verbs_free(verbs);
}
