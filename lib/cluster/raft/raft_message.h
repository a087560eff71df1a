/* SPDX-License-Identifier: MIT
 *
 * The messages between controllers with a key: libraft's messages as bytes.
 * libraft's own encoding is for streams and trusts every length that it reads.
 * This one is for whole messages, and any input is read safely or refused.
 * Pure.
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
 * The transport adds the sender and its address.
 */
#ifndef GW__CLUSTER_RAFT_MESSAGE_H
#define GW__CLUSTER_RAFT_MESSAGE_H

#include "base/bytes.h"

#include <raft.h>

/* Limit for the entries in one message; libraft itself has no limit. */
enum { GW__RAFT_ENTRIES_BYTES = 1 << 16 };

/* Returns the bytes used; 0: `room` is too small, or the type is unknown.
 * *whole is false if entries at the end were omitted, which Raft allows: a
 * message has at most GW__RAFT_ENTRIES_BYTES of entries, or one entry. */
size_t gw__raft_message_encode(const struct raft_message *message, void *out,
                               size_t room, bool *whole);
/* Fills *message except its server. The data that it refers to is
 * raft_malloc'ed; libraft or gw__raft_message_drop frees it. GW_EDATA if the
 * bytes are not from gw__raft_message_encode, GW_ENOMEM; then there is nothing
 * to free. */
GW_MUST_CHECK enum gw_err gw__raft_message_decode(const void *data,
                                                  size_t bytes,
                                                  struct raft_message *message,
                                                  struct gw_error *why);
/* Frees the memory that libraft would have freed. */
void gw__raft_message_drop(struct raft_message *message);

#endif
