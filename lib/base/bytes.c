/* SPDX-License-Identifier: MIT
 *
 * Little-endian writers and readers; see bytes.h.
 */
#include "bytes.h"

#include <string.h>

bool gw__id_equal(struct gw__id a, struct gw__id b)
{
    return a.high == b.high && a.low == b.low;
}

bool gw__id_is_none(struct gw__id id)
{
    return id.high == 0 && id.low == 0;
}

struct gw__writer gw__writer_on(void *out, size_t room)
{
    return (struct gw__writer){.out = out, .room = room};
}

bool gw__writer_fits(const struct gw__writer *w)
{
    return w->used <= w->room;
}

void gw__put_bytes(struct gw__writer *w, const void *data, size_t bytes)
{
    if (!w->out)
        w->hash = gw_hash(data, bytes, w->hash);
    else if (w->used <= w->room && bytes <= w->room - w->used && bytes > 0)
        memcpy(w->out + w->used, data, bytes);
    w->used += bytes;
}

/* Inlined with a constant count, this is one store, and `get` one load:
 * compilers recognise the shifts. */
static inline void put_bytes(struct gw__writer *w, uint64_t value,
                             unsigned bytes)
{
    uint8_t out[8] = {(uint8_t)value,         (uint8_t)(value >> 8),
                      (uint8_t)(value >> 16), (uint8_t)(value >> 24),
                      (uint8_t)(value >> 32), (uint8_t)(value >> 40),
                      (uint8_t)(value >> 48), (uint8_t)(value >> 56)};
    if (!w->out || w->used > w->room || bytes > w->room - w->used) {
        gw__put_bytes(w, out, bytes);
        return;
    }
    memcpy(w->out + w->used, out, bytes);
    w->used += bytes;
}

void gw__put_u8(struct gw__writer *w, unsigned value)
{
    put_bytes(w, value, 1);
}

void gw__put_u16(struct gw__writer *w, unsigned value)
{
    put_bytes(w, value, 2);
}

void gw__put_u32(struct gw__writer *w, uint32_t value)
{
    put_bytes(w, value, 4);
}

void gw__put_u64(struct gw__writer *w, uint64_t value)
{
    put_bytes(w, value, 8);
}

void gw__put_f64(struct gw__writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    gw__put_u64(w, bits);
}

void gw__put_id(struct gw__writer *w, struct gw__id id)
{
    put_bytes(w, id.high, 8);
    put_bytes(w, id.low, 8);
}

void gw__put_text(struct gw__writer *w, const char *text)
{
    size_t length = strnlen(text, UINT16_MAX);
    gw__put_u16(w, (unsigned)length);
    gw__put_bytes(w, text, length);
}

struct gw__reader gw__reader_on(const void *data, size_t bytes)
{
    return (struct gw__reader){.at = data, .left = bytes};
}

bool gw__reader_done(const struct gw__reader *r)
{
    return !r->bad && r->left == 0;
}

void gw__reader_demand(struct gw__reader *r, bool holds)
{
    if (!holds)
        r->bad = true;
}

void gw__get_bytes(struct gw__reader *r, void *out, size_t bytes)
{
    if (r->left < bytes)
        r->bad = true;
    if (r->bad) {
        memset(out, 0, bytes);
        return;
    }
    if (bytes > 0)
        memcpy(out, r->at, bytes);
    r->at += bytes;
    r->left -= bytes;
}

static inline uint64_t get(struct gw__reader *r, unsigned bytes)
{
    uint8_t in[8] = {0};
    if (r->bad || r->left < bytes) {
        r->bad = true;
        return 0;
    }
    memcpy(in, r->at, bytes);
    r->at += bytes;
    r->left -= bytes;
    return (uint64_t)in[0] | (uint64_t)in[1] << 8 | (uint64_t)in[2] << 16 |
           (uint64_t)in[3] << 24 | (uint64_t)in[4] << 32 |
           (uint64_t)in[5] << 40 | (uint64_t)in[6] << 48 |
           (uint64_t)in[7] << 56;
}

unsigned gw__get_u8(struct gw__reader *r)
{
    return (unsigned)get(r, 1);
}

unsigned gw__get_u16(struct gw__reader *r)
{
    return (unsigned)get(r, 2);
}

uint32_t gw__get_u32(struct gw__reader *r)
{
    return (uint32_t)get(r, 4);
}

uint64_t gw__get_u64(struct gw__reader *r)
{
    return get(r, 8);
}

double gw__get_f64(struct gw__reader *r)
{
    uint64_t bits = gw__get_u64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static unsigned below(struct gw__reader *r, unsigned value, unsigned bound)
{
    gw__reader_demand(r, value < bound);
    return r->bad ? 0 : value;
}

unsigned gw__get_u8_below(struct gw__reader *r, unsigned bound)
{
    return below(r, gw__get_u8(r), bound);
}

unsigned gw__get_u16_below(struct gw__reader *r, unsigned bound)
{
    return below(r, gw__get_u16(r), bound);
}

bool gw__get_bool(struct gw__reader *r)
{
    return gw__get_u8_below(r, 2) == 1;
}

struct gw__id gw__get_id(struct gw__reader *r)
{
    uint64_t high = get(r, 8);
    return (struct gw__id){.high = high, .low = get(r, 8)};
}

void gw__get_text(struct gw__reader *r, char *out, size_t size)
{
    size_t length = gw__get_u16(r);
    gw__reader_demand(r, length < size);
    if (r->bad)
        length = 0;
    gw__get_bytes(r, out, length);
    out[r->bad ? 0 : length] = 0;
    for (const char *c = out; *c; c++)
        gw__reader_demand(r, *c >= ' ' && *c <= '~');
    gw__reader_demand(r, strnlen(out, size) == length);
    if (r->bad)
        out[0] = 0;
}
