/* SPDX-License-Identifier: MIT
 *
 * Reading segments; see raft_segment.h.
 */
#include "raft_segment.h"

#include <gradwire/base.h>

#include <raft.h>
#include <string.h>

enum {
    FORMAT = 1,
    FORMAT_BYTES = 8,
    CHECKSUMS_BYTES = 8,
    COUNT_BYTES = 8,
    ABOUT_BYTES = 16, /* of an entry, in the header */
    ENTRIES_MAX = GW__RAFT_SEGMENT_BYTES / (2 * ABOUT_BYTES),
    SECTOR = 512
};

/* ---- the checksum ---- */

/* Processes half a byte at a time. */
uint32_t gw__raft_crc(uint32_t crc, const void *data, size_t bytes)
{
    static const uint32_t of_half[] = {
        0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
        0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
        0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) {
        crc = crc << 4 ^ of_half[crc >> 28 ^ at[i] >> 4];
        crc = crc << 4 ^ of_half[crc >> 28 ^ (at[i] & 15)];
    }
    return crc;
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t u32_at(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- a batch ---- */

void gw__raft_segment_begin(struct gw__raft_segment *segment, const void *bytes,
                            size_t size, bool open)
{
    *segment = (struct gw__raft_segment){
        .bytes = bytes, .size = size, .open = open, .end = FORMAT_BYTES};
}

bool gw__raft_segment_zeros(const struct gw__raft_segment *segment, size_t at)
{
    for (size_t i = at; i < segment->size; i++)
        if (segment->bytes[i] != 0)
            return false;
    return true;
}

static uint32_t length_of(const struct gw__raft_segment *s, unsigned i)
{
    const uint8_t *about = s->header + COUNT_BYTES + (size_t)ABOUT_BYTES * i;
    return u32_at(about + 12);
}

static size_t filled_up(uint32_t length)
{
    return ((size_t)length + 7) / 8 * 8;
}

static bool types_are_good(const struct gw__raft_segment *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        unsigned type = s->header[COUNT_BYTES + (size_t)ABOUT_BYTES * i + 8];
        if (type != RAFT_COMMAND && type != RAFT_BARRIER && type != RAFT_CHANGE)
            return false;
    }
    return true;
}

/* The fault of the header, or NULL. `end` is then its end. */
static const char *read_header(struct gw__raft_segment *s)
{
    size_t left = s->size - s->at;
    s->end = s->size;
    if (left < CHECKSUMS_BYTES + COUNT_BYTES)
        return "it is cut short";
    s->header = s->bytes + s->at + CHECKSUMS_BYTES;
    uint64_t count = u64_at(s->header);
    s->end = s->at + CHECKSUMS_BYTES + COUNT_BYTES;
    if (count == 0 || count > ENTRIES_MAX)
        return "its number of entries is impossible";
    s->count = (unsigned)count;
    size_t bytes = COUNT_BYTES + (size_t)ABOUT_BYTES * s->count;
    if (bytes > left - CHECKSUMS_BYTES) {
        s->end = s->size;
        return "it is cut short";
    }
    s->end = s->at + CHECKSUMS_BYTES + bytes;
    if (gw__raft_crc(0, s->header, bytes) != u32_at(s->bytes + s->at))
        return "the checksum of its header is wrong";
    return types_are_good(s) ? NULL : "it has entries of an unknown type";
}

static const char *read_data(struct gw__raft_segment *s)
{
    uint64_t bytes = 0;
    s->data = s->bytes + s->end;
    for (unsigned i = 0; i < s->count; i++)
        bytes += filled_up(length_of(s, i));
    if (bytes > s->size - s->end) {
        s->end = s->size;
        return "it is cut short";
    }
    s->end += bytes;
    uint32_t crc = u32_at(s->bytes + s->at + 4);
    return gw__raft_crc(0, s->data, bytes) == crc ? NULL
                                                  : "its checksum is wrong";
}

/* ---- torn writes ---- */

static bool is_zero(const struct gw__raft_segment *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (s->bytes[i] != 0)
            return false;
    return true;
}

/* Is one sector of the batch missing? */
static bool has_hole(const struct gw__raft_segment *s)
{
    size_t end = s->size;
    while (end > s->end && s->bytes[end - 1] == 0)
        end--;
    for (size_t from = s->at; from < end;) {
        size_t to = (from / SECTOR + 1) * SECTOR;
        if (is_zero(s, from, to < end ? to : end))
            return true;
        from = to;
    }
    return false;
}

enum gw__raft_batch gw__raft_segment_next(struct gw__raft_segment *segment)
{
    struct gw__raft_segment *s = segment;
    if (s->size < FORMAT_BYTES || u64_at(s->bytes) != FORMAT) {
        s->at = 0;
        s->wrong = "its format is unknown";
        return GW__BATCH_WRONG;
    }
    s->at = s->end;
    if (s->at == s->size || (s->open && gw__raft_segment_zeros(s, s->at)))
        return GW__BATCH_NONE;
    s->count = 0;
    s->wrong = read_header(s);
    if (!s->wrong)
        s->wrong = read_data(s);
    if (!s->wrong)
        return GW__BATCH_WHOLE;
    return s->open && has_hole(s) ? GW__BATCH_TORN : GW__BATCH_WRONG;
}

struct gw__raft_segment_entry
gw__raft_segment_entry(const struct gw__raft_segment *segment, unsigned i,
                       size_t *data_at)
{
    const uint8_t *about =
        segment->header + COUNT_BYTES + (size_t)ABOUT_BYTES * i;
    size_t bytes = filled_up(length_of(segment, i));
    struct gw__raft_segment_entry entry = {
        .term = u64_at(about),
        .type = about[8],
        .crc = gw__raft_crc(0, segment->data + *data_at, bytes)};
    *data_at += bytes;
    return entry;
}
