/* SPDX-License-Identifier: MIT
 *
 * Snapshots on disk: a directory with one file a slot and a manifest that makes
 * them one. gradwire-snapshot(5) has the format.
 *
 *     slot-07.3f      slot 7 as of marker 0x3f: a head (magic, version, marker,
 *                     slot, slots, bytes, hash), then the bytes of server.h
 *     manifest        names the marker and, of each slot, bytes and hash
 *
 * Several servers write their slots at the same time. Each file is written
 * beside its name, synced and renamed; whoever finds that all slots of a marker
 * are there writes the manifest in the same way, and then removes the files of
 * the former snapshot. So whatever ends in between, the manifest always names a
 * whole snapshot: the former or the new one.
 */
#ifndef GW__PS_SNAPSHOT_H
#define GW__PS_SNAPSHOT_H

#include <gradwire/ps.h>

/* Makes the directory when it is missing (not its parents). */
GW_MUST_CHECK enum gw_err gw__snapshot_write(const char *directory,
                                             uint64_t mark, unsigned slot,
                                             unsigned slot_count,
                                             const void *data, size_t bytes,
                                             struct gw_error *why);
/* GW_OK: the manifest says that this marker's snapshot is whole. GW_PENDING:
 * slots are missing. */
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
        const void *data; /* behind the head */
        size_t bytes;
    } slots[GW_PS_SLOTS_MAX];
};

/* Opens and checks all of it. GW_EDATA names the file and what is wrong: no
 * manifest, cut short, altered, of another marker. GW_ESYS. */
GW_MUST_CHECK enum gw_err gw__snapshot_open(const char *directory,
                                            struct gw__snapshot *snapshot,
                                            struct gw_error *why);
void gw__snapshot_close(struct gw__snapshot *snapshot);

#endif
