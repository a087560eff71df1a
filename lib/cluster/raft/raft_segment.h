/* SPDX-License-Identifier: MIT
 *
 * Reads libraft's segments, the files with the entries of its log, so that a
 * controller knows whether they are intact before libraft reads them. libraft
 * 0.15 silently shortens a damaged log, or crashes on it.
 *
 *     8 bytes    the format, 1
 *     batches:   one write to the disk each
 *       4 bytes  checksum of its header
 *       4 bytes  checksum of its data
 *       header   u64 number of entries; of each u64 term, u8 type, 3 unused
 *                bytes, u32 length
 *       data     of each entry, padded to a multiple of 8 bytes
 *
 * Numbers are little-endian. The checksum is CRC-32 with the polynomial
 * 0x04c11db7, highest bit first, from 0, not inverted. A segment that is being
 * written ("open-1") is followed by zeros up to its full size. A full one
 * ("0000000000000002-0000000000000009", its first and last entry) ends with its
 * last batch.
 *
 * Torn: a batch that is only partly on disk, because the computer stopped
 * meanwhile. Disks write sectors, so the missing part is zero, from one sector
 * boundary to another. A wrong batch without such a hole was complete before.
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
    /* The batch that was read last, or the place of the fault: */
    size_t at;
    size_t end;     /* its end, if known */
    unsigned count; /* number of its entries */
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

/* Initialises the reader before the first batch. */
void gw__raft_segment_begin(struct gw__raft_segment *segment, const void *bytes,
                            size_t size, bool open);
/* Reads the next batch; the reader stays at GW__BATCH_TORN and
 * GW__BATCH_WRONG. */
enum gw__raft_batch gw__raft_segment_next(struct gw__raft_segment *segment);
/* The entries of the batch, one after the other: start with `data` = 0. */
struct gw__raft_segment_entry
gw__raft_segment_entry(const struct gw__raft_segment *segment, unsigned i,
                       size_t *data_at);
/* Are there only zeros from `at` on? */
bool gw__raft_segment_zeros(const struct gw__raft_segment *segment, size_t at);

#endif
