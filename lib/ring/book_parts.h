/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the book:
 *   book.c         pages, views, ops
 *   book_decide.c  what a decision leaves to be done
 */
#ifndef GW__RING_BOOK_PARTS_H
#define GW__RING_BOOK_PARTS_H

#include "book.h"

/* Where an op is, or would be, written down. */
struct gw__page *gw__book_page(struct gw__book *book, uint64_t op);
/* The page of this op: the present one, or a new one in place of that of an op
 * that is over. */
struct gw__page *gw__book_open(struct gw__book *book, uint64_t op);
/* Fills in who takes part in the page's op; returns them as bits. */
uint64_t gw__book_take_part(const struct gw__view *view, struct gw__page *page);

#endif
