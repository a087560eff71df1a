/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An event as a sentence, for people. Pure.
 */
#ifndef EVENT_TEXT_H
#define EVENT_TEXT_H

#include <gradwire/gradwire.h>

/* "node 2 is dead", "epoch 3: 4 members", "1 > 2: chunk 3 (4K)". */
void event_text(const struct gw_event *event, char *out, size_t room);
/* Does it tell of a change that one would want to see in passing? Not so: ops,
 * chunks, steps. */
bool event_is_change(const struct gw_event *event);

#endif
