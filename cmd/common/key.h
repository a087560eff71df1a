/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The key of a cluster, for all tools: which file it is in, and making a new
 * one. It is one key for all processes (CURVE): whoever has the file is let in,
 * so it is to be copied to each host, and nowhere else.
 */
#ifndef KEY_H
#define KEY_H

#include "command.h"

/* For the options of a command whose processes speak with each other. */
extern const char *key_given;
/* clang-format off */
#define KEY_OPTION                                                             \
    {"key", 0, OPTION_TEXT, &key_given, "FILE",                                \
     "Key file; connections are encrypted, and only holders of the key are "   \
     "accepted. Default: $GRADWIRE_KEY.",                                      \
     NULL}
/* clang-format on */
/* The file that --key has named, else $GRADWIRE_KEY, else NULL: no key. */
const char *key_file(void);
/* Does that command take a key? Then the file is right, or why says what is
 * wrong with it (GW_EDATA): said before anything is begun or printed. */
GW_MUST_CHECK enum gw_err key_check(const struct command *command,
                                    struct gw_error *why);

/* What `ringctl keygen` and `psnode key` do with their one operand: a file that
 * only its owner may read; one that is there already stays as it is. */
int key_make(int operand_count, char **operands);

#endif
