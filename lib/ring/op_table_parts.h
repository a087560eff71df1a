/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the book:
 *   op_table.c         pages, views, ops
 *   op_table_decide.c  what a decision leaves to be done
 */
#ifndef GW__OP_TABLE_PARTS_H
#define GW__OP_TABLE_PARTS_H

#include "op_table.h"

/* Where an op is, or would be, written down. */
struct gw__page *gw__op_table_page(struct gw__op_table *book, uint64_t op);
/* The page of this op: the present one, or a new one in place of that of an op
 * that is over. */
struct gw__page *gw__op_table_open(struct gw__op_table *book, uint64_t op);
/* Fills in who takes part in the page's op; returns them as bits. */
uint64_t gw__op_table_take_part(const struct gw__view *view,
                                struct gw__page *page);

#endif
