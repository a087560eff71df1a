/* SPDX-License-Identifier: MIT
 *
 * The smaller messages as bytes: HELLO, LEASE, ANSWER and REDIRECT. See
 * protocol.h; NEWS is in membership_update.c, REPORTED in reported.c.
 */
#include "protocol.h"

static size_t used(const struct gw__writer *w)
{
    return gw__writer_fits(w) ? w->used : 0;
}

/* ---- HELLO ---- */

/* Not more than half the time after which a member that waits is parked. */
uint64_t gw__hello_ns(unsigned members)
{
    const uint64_t least = 100000000, most = 250000000, each = 500000;
    uint64_t ns = members * each;
    return ns < least ? least : ns > most ? most : ns;
}

size_t gw__hello_encode(const struct gw__hello *hello, void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    gw__put_u8(&w, GW__PROTOCOL_HELLO);
    gw__put_id(&w, hello->incarnation);
    gw__put_u64(&w, hello->index);
    gw__put_nodes(&w, &hello->reports);
    gw__put_u64(&w, hello->sent_ns);
    return used(&w);
}

enum gw_err gw__hello_decode(const void *data, size_t bytes,
                             struct gw__hello *hello, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__reader_demand(&r, gw__get_u8(&r) == GW__PROTOCOL_HELLO);
    *hello = (struct gw__hello){.incarnation = gw__get_id(&r)};
    hello->index = gw__get_u64(&r);
    hello->reports = gw__get_nodes(&r);
    hello->sent_ns = gw__get_u64(&r);
    gw__reader_demand(&r, !gw__id_is_none(hello->incarnation));
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA, "malformed HELLO of %zu bytes", bytes);
    return GW_OK;
}

/* ---- LEASE ---- */

size_t gw__lease_encode(const struct gw__lease *lease, void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    gw__put_u8(&w, GW__PROTOCOL_LEASE);
    gw__put_id(&w, lease->incarnation);
    gw__put_u64(&w, lease->sent_ns);
    gw__put_u64(&w, lease->index);
    gw__put_u64(&w, lease->lease_ns);
    return used(&w);
}

enum gw_err gw__lease_decode(const void *data, size_t bytes,
                             struct gw__lease *lease, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__reader_demand(&r, gw__get_u8(&r) == GW__PROTOCOL_LEASE);
    *lease = (struct gw__lease){.incarnation = gw__get_id(&r)};
    lease->sent_ns = gw__get_u64(&r);
    lease->index = gw__get_u64(&r);
    lease->lease_ns = gw__get_u64(&r);
    gw__reader_demand(&r, lease->lease_ns <= GW__LEASE_NS);
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA, "malformed lease of %zu bytes", bytes);
    return GW_OK;
}

/* ---- ANSWER and REDIRECT ---- */

size_t gw__reply_encode(const struct gw__reply *reply, void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    gw__put_u8(&w, reply->protocol);
    gw__put_id(&w, reply->client);
    gw__put_u64(&w, reply->sequence);
    if (reply->protocol == GW__PROTOCOL_REDIRECT)
        gw__put_u16(&w, reply->leader);
    else
        gw__put_bytes(&w, reply->answer, reply->answer_bytes);
    return used(&w);
}

enum gw_err gw__reply_decode(const void *data, size_t bytes,
                             struct gw__reply *reply, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    struct gw__answer answer;
    *reply = (struct gw__reply){.protocol = (enum gw__protocol)gw__get_u8(&r)};
    reply->client = gw__get_id(&r);
    reply->sequence = gw__get_u64(&r);
    if (reply->protocol == GW__PROTOCOL_REDIRECT) {
        reply->leader = gw__get_u16_below(&r, GW__NODES_MAX + 1);
        if (gw__reader_done(&r))
            return GW_OK;
    } else if (reply->protocol == GW__PROTOCOL_ANSWER && !r.bad) {
        reply->answer = r.at;
        reply->answer_bytes = r.left;
        if (gw__answer_decode(r.at, r.left, &answer, why) == GW_OK)
            return GW_OK;
    }
    return gw_fail(why, GW_EDATA, "malformed reply of %zu bytes", bytes);
}
