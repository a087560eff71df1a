/* SPDX-License-Identifier: MIT
 *
 * Checks that a controller's directory contains everything that the controller
 * has acknowledged. Before libraft starts, every file of its log is read, with
 * its checksums, and compared with the acknowledgements (raft_ack.h).
 *
 * Only one fault is not damage: a torn write at the end of the log
 * (raft_segment.h) that was not acknowledged. It is cut off with a notice
 * (gw_notice_to). Anything else is refused with the file, the byte and the
 * entry: a wrong checksum, missing or additional bytes, entries that are
 * missing, repeated or different from the acknowledged ones, a vote that was
 * lost. A controller that starts with less than it has acknowledged may vote
 * for another one that lacks it as well, and then the data is lost for all.
 *
 *   raft_dir.c        checks everything
 *   raft_dir_files.c  the list of files, and their bytes
 *   raft_dir_about.c  votes and snapshots
 *   raft_dir_lose.c   keeps the intact part
 */
#ifndef GW__CLUSTER_RAFT_DIR_H
#define GW__CLUSTER_RAFT_DIR_H

#include "raft_ack.h"

/* GW_OK: the directory is complete; `ack` is open and records all of it.
 * GW_EDATA: damage; nothing was changed. With `accept_loss` the part before the
 * damage is kept and the rest is moved to the subdirectory `lost`, with one
 * notice per damage. GW_ESYS, GW_ENOMEM. */
GW_MUST_CHECK enum gw_err gw__raft_dir_check(const char *directory,
                                             bool accept_loss,
                                             struct gw__raft_ack **ack,
                                             struct gw_error *why);

#endif
