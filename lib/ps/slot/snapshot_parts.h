/* SPDX-License-Identifier: MIT
 *
 * The format that the writer (snapshot.c) and the reader (snapshot_open.c)
 * share.
 */
#ifndef GW__PS_SNAPSHOT_PARTS_H
#define GW__PS_SNAPSHOT_PARTS_H

#include "snapshot.h"

enum {
    SNAPSHOT_VERSION = 3,
    SLOT_NAME_MAX = 40,
    MANIFEST_MAX = 128 + 48 * GW_PS_SLOTS_MAX
};
#define SLOT_MAGIC UINT64_C(0x746f6c7330637767) /* "gwc0slot" */

/* Little-endian; the bytes follow. */
struct slot_head {
    uint64_t magic;
    uint64_t mark;
    uint32_t version;
    uint32_t slot;
    uint32_t slot_count;
    uint32_t reserved;
    uint64_t bytes;
    uint64_t hash; /* gw_hash of the bytes */
};
_Static_assert(sizeof(struct slot_head) == 48, "no holes");

/* The contents of the manifest. */
struct manifest {
    uint64_t mark;
    unsigned slot_count;
    uint64_t bytes[GW_PS_SLOTS_MAX], hash[GW_PS_SLOTS_MAX];
};

/* Writes the canonical text of the manifest; returns its length. */
size_t gw__snapshot_manifest(const struct manifest *manifest,
                             char out[MANIFEST_MAX]);

void gw__snapshot_name(uint64_t mark, unsigned slot, char out[SLOT_NAME_MAX]);
GW_MUST_CHECK enum gw_err gw__snapshot_directory(const char *directory,
                                                 bool make, int *fd,
                                                 struct gw_error *why);

#endif
