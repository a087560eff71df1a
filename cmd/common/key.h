/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The key of a cluster, for all tools: its file, and making a new one. All
 * processes share one key (CURVE). Whoever has the file is admitted, so it
 * should be copied to each host and nowhere else.
 */
#ifndef KEY_H
#define KEY_H

#include "command.h"

/* For the options of a command whose processes communicate. */
extern const char *key_path;
/* clang-format off */
#define KEY_OPTION                                                             \
    {"key", 0, OPTION_TEXT, &key_path, "FILE",                                \
     "Key file; connections are encrypted, and only holders of the key are "   \
     "accepted. Default: $GRADWIRE_KEY.",                                      \
     NULL}
/* clang-format on */
/* The file that --key names, else $GRADWIRE_KEY, else NULL: no key. */
const char *key_file(void);
/* If the command takes a key, checks its file before anything is started or
 * printed. GW_EDATA with the reason in `why`. */
GW_MUST_CHECK enum gw_err key_check(const struct command *command,
                                    struct gw_error *why);

/* `ringctl keygen` and `psnode key`: writes the key into the file of the one
 * operand, readable by its owner only. An existing file is not changed. */
int key_make(int operand_count, char **operands);

#endif
