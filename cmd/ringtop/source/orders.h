/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orders of the user to the run: kill, pause, add. A supervisor answers a kill
 * when the new view is installed, which may take a while. So a separate thread
 * sends the request, and the picture continues.
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

GW_MUST_CHECK enum gw_err orders_new(const char *run, struct orders **desired,
                                     struct gw_error *why);
void orders_destroy(struct orders **desired);
/* False: another one is under way. PAUSE resumes a paused node. */
bool orders_give(struct orders *desired, const struct order *order);
/* The sentence about the last order's result, once; false: no new one. */
bool orders_answer(struct orders *desired, char *out, size_t size);

#endif
