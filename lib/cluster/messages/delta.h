/* SPDX-License-Identifier: MIT
 *
 * Bytes as changes of other bytes that the reader has: the bytes that stay, and
 * the new bytes between them. Made for lists whose entries come, go and change,
 * but keep their order; other changes are correct and longer.
 */
#ifndef GW__CLUSTER_DELTA_H
#define GW__CLUSTER_DELTA_H

#include "base/bytes.h"

struct gw__span {
    const uint8_t *data;
    size_t bytes;
};

/* Writes `to` as changes of `from`. It takes O(bytes) steps per change. */
void gw__put_delta(struct gw__writer *writer, struct gw__span from,
                   struct gw__span to);
/* Reads changes of `from`, and writes the changed bytes to `out`. Returns their
 * number; bad and 0 if there is no room, or `from` is too short. */
size_t gw__get_delta(struct gw__reader *reader, struct gw__span from, void *out,
                     size_t room);

#endif
