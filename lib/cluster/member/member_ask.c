/* SPDX-License-Identifier: MIT
 *
 * What the application asks of its member machine, as bytes, and what each
 * question does.
 */
#include "member_parts.h"

#include <string.h>

enum ask {
    READY = 1,
    ADMIT,
    REPORT,
    ADDRESS,
    LEAVE,
    LOST,
    STANDING,
    COMMAND,
    RESET,
    NEWS
};

static struct gw__writer begin(uint8_t *out, enum ask ask)
{
    struct gw__writer w = gw__writer_on(out, GW__MEMBER_ASK_MAX);
    gw__put_u8(&w, ask);
    return w;
}

size_t gw__member_ask_ready(uint8_t out[GW__MEMBER_ASK_MAX], uint64_t op)
{
    struct gw__writer w = begin(out, READY);
    gw__put_u64(&w, op);
    return w.used;
}

size_t gw__member_ask_admit(uint8_t out[GW__MEMBER_ASK_MAX], uint64_t from_op,
                            uint64_t ring_epoch, const struct gw__order *order)
{
    struct gw__writer w = begin(out, ADMIT);
    gw__put_u64(&w, from_op);
    gw__put_u64(&w, ring_epoch);
    gw__put_order(&w, order);
    return w.used;
}

size_t gw__member_ask_report(uint8_t out[GW__MEMBER_ASK_MAX],
                             uint64_t flush_epoch,
                             const struct gw__report *report)
{
    struct gw__writer w = begin(out, REPORT);
    gw__put_u64(&w, flush_epoch);
    gw__put_report(&w, report);
    return w.used;
}

size_t gw__member_ask_address(uint8_t out[GW__MEMBER_ASK_MAX],
                              uint64_t ring_epoch, const void *blob,
                              size_t bytes)
{
    struct gw__writer w = begin(out, ADDRESS);
    gw__put_u64(&w, ring_epoch);
    if (bytes > GW__BLOB_MAX)
        return 0;
    gw__put_bytes(&w, blob, bytes);
    return w.used;
}

size_t gw__member_ask_news(uint8_t out[GW__MEMBER_ASK_MAX])
{
    return begin(out, NEWS).used;
}

size_t gw__member_ask_leave(uint8_t out[GW__MEMBER_ASK_MAX])
{
    return begin(out, LEAVE).used;
}

size_t gw__member_ask_reset(uint8_t out[GW__MEMBER_ASK_MAX],
                            struct gw__process who)
{
    struct gw__writer w = begin(out, RESET);
    gw__put_process(&w, who);
    return w.used;
}

size_t gw__member_ask_lost(uint8_t out[GW__MEMBER_ASK_MAX],
                           struct gw__process who)
{
    struct gw__writer w = begin(out, LOST);
    gw__put_process(&w, who);
    return w.used;
}

size_t gw__member_ask_standing(uint8_t out[GW__MEMBER_ASK_MAX],
                               const struct gw__standing *standing)
{
    struct gw__writer w = begin(out, STANDING);
    w.used += gw__detector_ask_standing(out + w.used, standing);
    return w.used;
}

size_t gw__member_ask_command(uint8_t out[GW__MEMBER_ASK_MAX],
                              const struct gw__command *command, unsigned tag)
{
    struct gw__writer w = begin(out, COMMAND);
    gw__put_u32(&w, tag);
    w.used += gw__command_encode(command, out + w.used, w.room - w.used);
    return w.used;
}

/* ---- and what they do ---- */

static void ask_ready(struct gw__mate *m, struct gw__reader *r)
{
    m->ready_op = gw__get_u64(r);
    m->is_ready = !r->bad;
    gw__ready_send(m);
}

static void ask_admit(struct gw__mate *m, struct gw__reader *r)
{
    m->admit_op = gw__get_u64(r);
    m->admit_ring_epoch = gw__get_u64(r);
    gw__get_order(r, &m->admit_order);
    m->admits = true;
    m->admit_sent = false;
}

static void ask_report(struct gw__mate *m, struct gw__reader *r)
{
    struct gw__report report;
    uint64_t flush_epoch = gw__get_u64(r);
    gw__get_report(r, &report);
    if (!gw__reader_done(r) || m->stage != GW__STAGE_FLUSHING ||
        flush_epoch != m->flush_epoch || m->has_report)
        return;
    m->report = report;
    m->has_report = true;
}

static void ask_standing(struct gw__mate *m, const struct gw__reader *r)
{
    const struct gw__input input = {.kind = GW__ASKED,
                                    .now_ns = m->now_ns,
                                    .from = m->node,
                                    .incarnation = m->incarnation,
                                    .data = r->at,
                                    .bytes = r->left};
    gw__mate_detect(m, &input);
}

static void ask_command(struct gw__mate *m, struct gw__reader *r)
{
    struct gw__command command;
    struct gw_error why;
    unsigned tag = gw__get_u32(r);
    if (r->bad || gw__command_decode(r->at, r->left, &command, &why))
        return;
    gw__want_add(m, &command, tag);
}

void gw__mate_asked(struct gw__mate *m, const struct gw__input *input)
{
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    uint64_t epoch;
    switch ((enum ask)gw__get_u8(&r)) {
    case READY:
        ask_ready(m, &r);
        break;
    case ADMIT:
        ask_admit(m, &r);
        break;
    case REPORT:
        ask_report(m, &r);
        break;
    case ADDRESS:
        epoch = gw__get_u64(&r);
        gw__meet_begin(m, epoch, r.at, r.left);
        break;
    case LEAVE:
        m->leaves = true;
        break;
    case NEWS:
        m->asks_news = true;
        gw__mate_hello(m);
        break;
    case RESET:
        gw__doubt_reset(m, gw__get_process(&r));
        break;
    case LOST:
        gw__doubt_lost(m, gw__get_process(&r));
        break;
    case STANDING:
        ask_standing(m, &r);
        break;
    case COMMAND:
        ask_command(m, &r);
        break;
    }
}
