/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the person at the screen has the run do: kill, pause, add. A supervisor
 * answers a kill when the new view is there, which may take a while, so a
 * thread of its own asks, and the picture goes on.
 */
#ifndef RINGTOP_ORDERS_H
#define RINGTOP_ORDERS_H

#include <gradwire/gradwire.h>

enum order_kind { ORDER_NONE, ORDER_KILL, ORDER_PAUSE, ORDER_ADD };

struct order {
    enum order_kind kind;
    unsigned node; /* not with ADD */
    bool server;   /* of parameter servers; else a worker */
};

struct orders;

GW_MUST_CHECK enum gw_err orders_new(const char *run, struct orders **orders,
                                     struct gw_error *why);
void orders_destroy(struct orders **orders);
/* False: another one is under way. PAUSE resumes a node that is paused. */
bool orders_give(struct orders *orders, const struct order *order);
/* The sentence that the last order ended with, once; false: none is new. */
bool orders_said(struct orders *orders, char *out, size_t size);

#endif
