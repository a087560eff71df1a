/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The storage of a simulated controller: term, vote and log. It survives
 * crashes.
 */
#ifndef SIMCLUSTER_RAFTS_DISK_H
#define SIMCLUSTER_RAFTS_DISK_H

#include <raft.h>

struct rafts_disk {
    raft_term term;
    raft_id vote;
    size_t count, room;
    struct raft_entry *entries; /* of index 1, 2, ... */
};

void rafts_disk_clear(struct rafts_disk *disk);
/* These return the codes of libraft's back ends: 0, or RAFT_NOMEM and others.
 */
int rafts_disk_load(const struct rafts_disk *disk, raft_term *term,
                    raft_id *vote, struct raft_entry **entries, size_t *count);
int rafts_disk_bootstrap(struct rafts_disk *disk,
                         const struct raft_configuration *conf);
int rafts_disk_append(struct rafts_disk *disk,
                      const struct raft_entry entries[], unsigned count);
void rafts_disk_truncate(struct rafts_disk *disk, raft_index index);

#endif
