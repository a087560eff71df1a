/* SPDX-License-Identifier: MIT
 *
 * What controllers say to each other behind the cluster's key: libraft's
 * messages as bytes. libraft has an encoding of its own, for streams, that
 * believes every length it reads; this one is for whole messages, and whatever
 * comes is read safely or refused. Pure.
 *
 *     magic type | RequestVote        term candidate index term flags
 *                | its result         term granted pre-vote
 *                | AppendEntries      term index term commit, count,
 *                |                    (term type length) each, then the bytes
 *                | its result         term rejected index
 *                | InstallSnapshot    term index term, the configuration and
 *                |                    its index, length, bytes
 *                | TimeoutNow         term index term
 *
 * Who sent it, and where that one listens, is for the carrier to say.
 */
#ifndef GW__CLUSTER_RAFT_MESSAGE_H
#define GW__CLUSTER_RAFT_MESSAGE_H

#include "base/bytes.h"

#include <raft.h>

/* Of the entries in one message; libraft itself knows no bound. */
enum { GW__RAFT_ENTRIES_BYTES = 1 << 16 };

/* The bytes used; 0: they do not fit `room`, or it is no message. *whole is
 * false where entries were left out at the end, which Raft allows: their bytes
 * are at most GW__RAFT_ENTRIES_BYTES, or it is one. */
size_t gw__raft_message_encode(const struct raft_message *message, void *out,
                               size_t room, bool *whole);
/* All of *message but its server; what it refers to is raft_malloc'ed, and
 * libraft's to free, or gw__raft_message_drop's. GW_EDATA for what was not
 * written by gw__raft_message_encode, GW_ENOMEM; nothing is to be freed then.
 */
GW_MUST_CHECK enum gw_err gw__raft_message_decode(const void *data,
                                                  size_t bytes,
                                                  struct raft_message *message,
                                                  struct gw_error *why);
/* Frees what libraft would have freed. */
void gw__raft_message_drop(struct raft_message *message);

#endif
