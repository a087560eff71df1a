/* SPDX-License-Identifier: MIT
 *
 * Whether a controller's directory holds all that the controller has
 * acknowledged: before libraft sees it, every file of its log is read, with its
 * checksums, and compared with what was acknowledged (raft_ack.h).
 *
 * Only one thing that is wrong is no damage: a torn write at the end of the log
 * (raft_segment.h) that nobody was told of. It is cut off, and that is said by
 * gw_notice_to. Anything else is refused with the file, the byte and the entry:
 * a wrong checksum, bytes that are missing or follow, entries that are missing,
 * come twice or are not those that were acknowledged, a vote that was taken
 * back. For if a controller starts with less than it has acknowledged, it may
 * vote for another one that has it not, and then all have lost it.
 *
 *   raft_dir.c        one look at everything
 *   raft_dir_files.c  what files there are, and their bytes
 *   raft_dir_about.c  votes and snapshots
 *   raft_dir_lose.c   going on with what is whole
 */
#ifndef GW__CLUSTER_RAFT_DIR_H
#define GW__CLUSTER_RAFT_DIR_H

#include "raft_ack.h"

/* GW_OK: all is there; `ack` is open, and says everything that is. GW_EDATA:
 * damage; nothing was changed. `accept_loss`: then what is before the damage is
 * kept, and the rest is moved to the subdirectory `lost`, in as many notices as
 * there is damage. GW_ESYS, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__raft_dir_check(const char *directory,
                                             bool accept_loss,
                                             struct gw__raft_ack **ack,
                                             struct gw_error *why);

#endif
