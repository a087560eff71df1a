/* SPDX-License-Identifier: MIT
 *
 * The rules of the calibration file for one wire and number of ranks, as a
 * communicator holds them: flat, so that rank 0's travel in one message and
 * looking one up reads no file.
 */
#ifndef GW__TUNING_TABLE_H
#define GW__TUNING_TABLE_H

#include "calibration.h"

/* As many as make a message that still travels on a card of shared memory. */
enum { GW__TUNING_TABLE_MAX = 128 };

struct gw__tuning_table {
    uint64_t count;
    struct gw__winner {
        uint64_t from_bytes, to_bytes;
        uint64_t algo; /* index into gw_algo_list */
    } list[GW__TUNING_TABLE_MAX];
};

/* Bytes of a rank's whole buffer, all blocks of it: what rules go by. */
uint64_t gw__tuning_table_bytes(enum gw_collective collective, unsigned ranks,
                                size_t count, size_t elem_bytes);
/* Fills *winners with those of the file for this wire and number of ranks. What
 * makes no sense, and what is too much, is passed over. */
void gw__tuning_table_of(json_t *file, const char *wire, unsigned ranks,
                         struct gw__tuning_table *winners);
/* Takes over those of `told` that make sense: another process sent them. */
void gw__tuning_table_take(struct gw__tuning_table *winners,
                           const struct gw__tuning_table *told);
/* The algorithm of the first rule that covers the call, or NULL. */
const struct gw_algo *
gw__tuning_table_algo(const struct gw__tuning_table *winners,
                      enum gw_collective collective, unsigned ranks,
                      size_t count, size_t elem_bytes);

/* One entry of the file's list for `collective`; false when it makes no sense.
 */
bool gw__winner_read(json_t *entry, enum gw_collective collective,
                     struct gw_rule *rule);

#endif
