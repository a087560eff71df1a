/* SPDX-License-Identifier: MIT
 *
 * Shared by the parts of the op table:
 *   op_table.c         entries, views, ops
 *   op_table_decide.c  tasks after a decision
 */
#ifndef GW__OP_TABLE_PARTS_H
#define GW__OP_TABLE_PARTS_H

#include "op_table.h"

/* The entry of this op: the present one, or a new one that replaces the entry
 * of an op that is over. */
struct gw__op_entry *gw__op_table_open(struct gw__op_table *ops, uint64_t op);
/* Sets the members that take part in the entry's op, and returns them. */
struct gw_nodes gw__op_table_participants(const struct gw__op_table *ops,
                                          struct gw__op_entry *entry);
/* Begins the contributor sets of an entry with its chunks. */
void gw__op_table_begin_sets(const struct gw__op_table *ops,
                             struct gw__op_entry *entry,
                             const struct gw_nodes *target);

#endif
