/* SPDX-License-Identifier: MIT
 *
 * The rules of the calibration file for one wire and number of ranks, as a
 * communicator holds them. The table is flat, so that rank 0's fits in one
 * message and a lookup reads no file.
 */
#ifndef GW__TUNING_TABLE_H
#define GW__TUNING_TABLE_H

#include "calibration.h"

/* Limited so that the table fits in a message in a control block of shared
 * memory. */
enum { GW__TUNING_TABLE_MAX = 128 };

struct gw__tuning_table {
    uint64_t count;
    struct gw__tuning_entry {
        uint64_t from_bytes, to_bytes;
        uint64_t algo; /* index into gw_algo_list */
    } list[GW__TUNING_TABLE_MAX];
};

/* Bytes of a rank's whole buffer with all its blocks, the size that rules refer
 * to. */
uint64_t gw__tuning_table_bytes(enum gw_collective collective, unsigned ranks,
                                size_t count, size_t elem_bytes);
/* Fills *winners with the file's rules for this wire and number of ranks.
 * Invalid and surplus rules are ignored. */
void gw__tuning_table_of(json_t *file, const char *wire, unsigned ranks,
                         struct gw__tuning_table *tuning_table);
/* Copies the valid rules of another process's table. */
void gw__tuning_table_adopt(struct gw__tuning_table *tuning_table,
                            const struct gw__tuning_table *received);
/* The algorithm of the first rule that covers the call, or NULL. */
const struct gw_algo *
gw__tuning_table_algo(const struct gw__tuning_table *tuning_table,
                      enum gw_collective collective, unsigned ranks,
                      size_t count, size_t elem_bytes);

/* One entry of the file's list for `collective`; false if it is invalid. */
bool gw__tuning_entry_read(json_t *entry, enum gw_collective collective,
                           struct gw_tuning_rule *rule);

#endif
