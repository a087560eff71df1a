/* SPDX-License-Identifier: MIT
 *
 * The queue pairs: their requests, and the completions in the one completion
 * queue. The id of each work request holds its kind and its peer, so a failed
 * one can be identified too. Requests of one queue pair complete in order.
 *
 * The completion queue has room for everything that can be in flight at once,
 * so it cannot overflow.
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum kind { SLICE = 1, WRITTEN, CONTROL, PROBE, NUDGE, RECEIVE };

enum {
    W = GW__VERBS_WINDOW_SLICES,
    /* On iWARP a slice is two requests. */
    SENDS = 2 * W + GW__VERBS_CONTROLS + 4,
    MARK_BYTES = sizeof(uint32_t),
    A_POLL = 32,
    POLLS = 64, /* at most, before other work gets its turn */
};

static uint64_t id_of(enum kind kind, unsigned peer, unsigned number)
{
    return (uint64_t)kind << 56 | (uint64_t)peer << 32 | number;
}

static unsigned char *receive_at(const struct gw__verbs_link *link,
                                 unsigned place)
{
    return link->receives + (size_t)place * GW__VERBS_CONTROL_ROOM;
}

static int post_receive(struct gw__verbs *verbs, unsigned peer, unsigned place)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct ibv_sge where = {.addr = (uintptr_t)receive_at(link, place),
                            .length = GW__VERBS_CONTROL_ROOM,
                            .lkey = verbs->local_mr->lkey};
    struct ibv_recv_wr request = {.wr_id = id_of(RECEIVE, peer, place),
                                  .sg_list = &where,
                                  .num_sge = 1},
                       *bad;
    return ibv_post_recv(link->id->qp, &request, &bad);
}

enum gw_err gw__verbs_make_queue(struct gw__verbs *verbs, unsigned peer,
                                 struct gw_error *why)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct ibv_qp_init_attr wanted = {.send_cq = verbs->queue,
                                      .recv_cq = verbs->queue,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {.max_send_wr = SENDS,
                                              .max_recv_wr = GW__VERBS_RECEIVES,
                                              .max_send_sge = 2,
                                              .max_recv_sge = 1}};
    if (verbs->iwarp)
        wanted.cap.max_inline_data = MARK_BYTES;
    if (link->id->verbs != verbs->device)
        return gw_fail(why, GW_EUNREACH, "rank %u cannot be reached from %s",
                       peer, ibv_get_device_name(verbs->device->device));
    errno = EIO; /* some libraries fail without setting errno */
    if (rdma_create_qp(link->id, verbs->domain, &wanted) != 0)
        return gw_fail_errno(why, "a queue pair for rank %u", peer);
    for (unsigned place = 0; place < GW__VERBS_RECEIVES; place++)
        if (post_receive(verbs, peer, place) != 0)
            return gw_fail_errno(why, "receives for rank %u", peer);
    return GW_OK;
}

/* ---- posting ---- */

static int post(struct gw__verbs_link *link, struct ibv_send_wr *requests)
{
    struct ibv_send_wr *bad;
    return ibv_post_send(link->id->qp, requests, &bad);
}

/* Over iWARP both requests report their completion. siw takes an unsignaled
 * request as permission to read the memory later, for as long as TCP may have
 * to send it again. And the offset is sent inline: siw copies a few bytes from
 * the user's memory, but sometimes in a thread without a user address space,
 * and then drops the connection. */
int gw__verbs_post_slice(struct gw__verbs *verbs, unsigned peer,
                         uint64_t offset, const void *borrowed, uint32_t bytes,
                         uint32_t key)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    uint32_t grain = (uint32_t)(offset / GW__VERBS_GRAIN);
    struct ibv_sge parts[] = {
        {.addr = (uintptr_t)(link->staging + offset),
         .length = (uint32_t)sizeof(struct gw__header) + (borrowed ? 0 : bytes),
         .lkey = verbs->local_mr->lkey},
        {.addr = (uintptr_t)borrowed, .length = bytes, .lkey = key}};
    struct ibv_send_wr write = {
        .wr_id = id_of(SLICE, peer, 0),
        .sg_list = parts,
        .num_sge = borrowed ? 2 : 1,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .send_flags = IBV_SEND_SIGNALED,
        .imm_data = htonl(grain),
        .wr.rdma = {link->remote_zone + offset, link->remote_key}};
    if (!verbs->iwarp)
        return post(link, &write);
    struct ibv_sge word = {.addr = (uintptr_t)&grain, .length = MARK_BYTES};
    struct ibv_send_wr notice = {.wr_id = write.wr_id,
                                 .sg_list = &word,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags =
                                     IBV_SEND_SIGNALED | IBV_SEND_INLINE};
    write.opcode = IBV_WR_RDMA_WRITE;
    write.wr_id = id_of(WRITTEN, peer, 0);
    write.next = &notice;
    return post(link, &write);
}

int gw__verbs_post_control(struct gw__verbs *verbs, unsigned peer,
                           unsigned place, size_t bytes)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct ibv_sge where = {
        .addr = (uintptr_t)(link->controls +
                            (size_t)place * GW__VERBS_CONTROL_ROOM),
        .length = (uint32_t)bytes,
        .lkey = verbs->local_mr->lkey};
    struct ibv_send_wr request = {.wr_id = id_of(CONTROL, peer, place),
                                  .sg_list = &where,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED};
    return post(link, &request);
}

/* Reads or writes zero bytes of the peer's zone. siw needs one element of
 * length 0 for it; elsewhere that could mean a very large one, so there is no
 * element. */
static int post_nothing(struct gw__verbs *verbs, unsigned peer, enum kind kind,
                        enum ibv_wr_opcode opcode)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    struct ibv_sge nothing = {.addr = (uintptr_t)link->controls,
                              .lkey = verbs->local_mr->lkey};
    struct ibv_send_wr request = {
        .wr_id = id_of(kind, peer, 0),
        .sg_list = &nothing,
        .num_sge = verbs->iwarp ? 1 : 0,
        .opcode = opcode,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {link->remote_zone, link->remote_key}};
    return post(link, &request);
}

int gw__verbs_post_probe(struct gw__verbs *verbs, unsigned peer)
{
    return post_nothing(verbs, peer, PROBE,
                        verbs->iwarp ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE);
}

int gw__verbs_post_nudge(struct gw__verbs *verbs, unsigned peer)
{
    return post_nothing(verbs, peer, NUDGE, IBV_WR_RDMA_WRITE);
}

/* ---- completions ---- */

/* A receive completes with the immediate value of a write or with a message:
 * iWARP's offset message, or a note. */
static void apply_arrival(struct gw__verbs *verbs, unsigned peer,
                          const struct ibv_wc *done)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    const unsigned char *message = receive_at(link, (unsigned)done->wr_id);
    bool immediate = done->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    uint32_t grain;
    if (immediate || (verbs->iwarp && done->byte_len == sizeof grain)) {
        if (immediate)
            grain = ntohl(done->imm_data);
        else
            memcpy(&grain, message, sizeof grain);
        if (link->arrived - link->received >= W) {
            gw__verbs_lose(verbs, peer,
                           "more slices than the queue has room for");
            return;
        }
        link->grain_of[link->arrived++ % W] = grain;
        link->in_changed = true;
    } else
        gw__verbs_receive_control(verbs, peer, message, done->byte_len);
    if (post_receive(verbs, peer, (unsigned)done->wr_id) != 0 &&
        link->state == GW__VERBS_UP)
        gw__verbs_lose(verbs, peer, "no receives are left");
}

static void control_is_free(struct gw__verbs *verbs, unsigned peer,
                            unsigned place)
{
    struct gw__verbs_link *link = &verbs->links[peer];
    link->control_busy[place] = false;
    link->busy_controls--;
    if (link->credit_due)
        gw__verbs_send_credit(verbs, peer);
}

/* Requests that the queue pair has flushed on an error are not read any more
 * either. */
static void apply_completion(struct gw__verbs *verbs, const struct ibv_wc *done)
{
    enum kind kind = (enum kind)(done->wr_id >> 56);
    unsigned peer = (unsigned)(done->wr_id >> 32) & 0xffffff;
    struct gw__verbs_link *link = &verbs->links[peer];
    bool failed = done->status != IBV_WC_SUCCESS;
    link->signs += !failed;
    if (failed && link->state == GW__VERBS_UP && !verbs->over)
        gw__verbs_lose(verbs, peer,
                       done->status == IBV_WC_WR_FLUSH_ERR
                           ? "its connection ended"
                           : ibv_wc_status_str(done->status));
    switch (kind) {
    case SLICE:
        if (link->completed < link->sent) /* not so for a destroyed queue */
            link->completed++;
        link->out_changed = true;
        break;
    case WRITTEN:
        break; /* the message after it counts */
    case CONTROL:
        control_is_free(verbs, peer, (unsigned)done->wr_id);
        break;
    case PROBE:
        link->probing = false;
        break;
    case NUDGE:
        link->nudging = false;
        break;
    case RECEIVE:
        if (!failed && link->id->qp) /* it may be destroyed already */
            apply_arrival(verbs, peer, done);
        break;
    }
}

bool gw__verbs_progress(struct gw__verbs *verbs)
{
    struct ibv_wc done[A_POLL];
    bool any = false;
    int count = A_POLL;
    for (int i = 0; i < POLLS && count == A_POLL; i++) {
        count = ibv_poll_cq(verbs->queue, A_POLL, done);
        for (int k = 0; k < count; k++)
            apply_completion(verbs, &done[k]);
        any |= count > 0;
    }
    if (count < 0 && !verbs->error.code) {
        gw_fail(&verbs->error, GW_ESYS, "the completion queue failed");
        verbs->state_changed = true;
    }
    if (verbs->abort_reported && !verbs->over)
        gw__verbs_end_all(verbs);
    return any;
}
