/* SPDX-License-Identifier: MIT
 *
 * A reader of libraft's segments, the files with the entries of its log: so
 * that a controller knows whether they are whole before libraft sees them.
 * libraft 0.15 shortens a damaged log in silence, or crashes on it.
 *
 *     8 bytes    the format, 1
 *     batches:   what was given to the disk in one piece
 *       4 bytes  checksum of its header
 *       4 bytes  checksum of its data
 *       header   u64 how many entries; of each u64 term, u8 type, 3 bytes that
 *                are not used, u32 length
 *       data     of each entry, filled up to a multiple of 8 bytes
 *
 * Numbers are little-endian. The checksum is CRC-32 with the polynomial
 * 0x04c11db7, the highest bit first, from 0, not inverted. A segment that is
 * being written to ("open-1") is followed by zeros up to its full size; one
 * that is full ("0000000000000002-0000000000000009", its first and its last
 * entry) ends with its last batch.
 *
 * Torn: a batch of which the disk has only a part, since the computer ended
 * meanwhile. Disks write sectors: what is missing is zero, from a boundary of
 * sectors to another one. A batch that is wrong and has no such hole was whole
 * once.
 */
#ifndef GW__CLUSTER_RAFT_SEGMENT_H
#define GW__CLUSTER_RAFT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW__RAFT_SEGMENT_BYTES = 1 << 20 };

struct gw__raft_segment {
    const uint8_t *bytes;
    size_t size;
    bool open;
    /* The batch that was read last, or the place of what is wrong: */
    size_t at;
    size_t end;     /* of it, as far as that is known */
    unsigned count; /* of entries in it */
    const char *wrong;
    const uint8_t *header, *data;
};

struct gw__raft_segment_entry {
    uint64_t term;
    unsigned type;
    uint32_t crc; /* of its data */
};

enum gw__raft_batch {
    GW__BATCH_WHOLE,
    GW__BATCH_NONE, /* the segment has ended */
    GW__BATCH_TORN,
    GW__BATCH_WRONG
};

uint32_t gw__raft_crc(uint32_t crc, const void *data, size_t bytes);

/* Before the first batch. */
void gw__raft_segment_begin(struct gw__raft_segment *segment, const void *bytes,
                            size_t size, bool open);
/* The next batch; GW__BATCH_TORN and GW__BATCH_WRONG leave the reader there. */
enum gw__raft_batch gw__raft_segment_next(struct gw__raft_segment *segment);
/* The entries of the batch, one after the other: begins with `data`, 0. */
struct gw__raft_segment_entry
gw__raft_segment_entry(const struct gw__raft_segment *segment, unsigned i,
                       size_t *data_at);
/* Nothing but zeros from there on. */
bool gw__raft_segment_zeros(const struct gw__raft_segment *segment, size_t at);

#endif
