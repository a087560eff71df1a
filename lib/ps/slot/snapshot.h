/* SPDX-License-Identifier: MIT
 *
 * Snapshots on disk: a directory with one file per slot and a manifest, which
 * defines the complete snapshot. gradwire-snapshot(5) has the format.
 *
 *     slot-07.3f      slot 7 as of marker 0x3f: a head (magic, version, marker,
 *                     slot, slots, bytes, hash), then the bytes of server.h
 *     manifest        the marker and, for each slot, size and hash
 *
 * Several servers write their slots concurrently. Each file is written under a
 * temporary name, synced and renamed. The server that finds all slots of a
 * marker complete writes the manifest in the same way, and then deletes the
 * files of the former snapshot. So after a crash at any time, the manifest
 * names a complete snapshot: the former or the new one.
 */
#ifndef GW__PS_SNAPSHOT_H
#define GW__PS_SNAPSHOT_H

#include <gradwire/ps.h>

/* Creates the directory if it is missing (but not its parents). */
GW_MUST_CHECK enum gw_err gw__snapshot_write(const char *directory,
                                             uint64_t mark, unsigned slot,
                                             unsigned slot_count,
                                             const void *data, size_t bytes,
                                             struct gw_error *why);
/* GW_OK: the manifest has this marker. GW_PENDING: slots are missing. */
GW_MUST_CHECK enum gw_err gw__snapshot_finish(const char *directory,
                                              uint64_t mark,
                                              unsigned slot_count,
                                              struct gw_error *why);

struct gw__snapshot {
    uint64_t mark;
    unsigned slot_count;
    struct {
        void *map; /* of the whole file */
        size_t map_bytes;
        const void *data; /* after the head */
        size_t bytes;
    } slots[GW_PS_SLOTS_MAX];
};

/* Opens and checks all files. GW_EDATA with the file and the defect: no
 * manifest, truncated, altered, another marker. GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__snapshot_open(const char *directory,
                                            struct gw__snapshot *snapshot,
                                            struct gw_error *why);
void gw__snapshot_close(struct gw__snapshot *snapshot);

#endif
