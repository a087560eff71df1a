/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists in the values of options: "1ms,2ms".
 */
#ifndef COMMON_ITEMS_H
#define COMMON_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the next item and moves *rest past it, finally to NULL; false: there
 * is none. An item that is too long is truncated. "" is one item, which is
 * empty. */
bool items_next(const char **rest, char *item, size_t size);

#endif
