/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Link settings in words: "delay 5ms jitter 1ms rate 100M loss 1%", "down",
 * "up", "clear". Settings without a word do not change. Pure.
 */
#ifndef LINK_WORDS_H
#define LINK_WORDS_H

#include <gradwire/gradwire.h>

#include <jansson.h>

/* Reads the words into the fields of a request (attach.h); GW_EINVAL leaves
 * *fields NULL. */
GW_MUST_CHECK enum gw_err link_words_parse(int count, char *const *words,
                                           json_t **fields,
                                           struct gw_error *why);
/* "delay 5ms, rate 100M/s, up"; "as it is" when it is empty. */
void link_words_print(const json_t *link, char *out, size_t room);

#endif
