/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completion scripts, one file per shell, and their shared functions.
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "common/internal.h"

#include <string.h>

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

/* The command that runs without being named, or NULL. */
const struct command *unnamed(void);
/* Calls `visit` for each word that an operand of `command` may be. */
void complete_operands(const struct command *command,
                       void (*visit)(const char *word));
/* May an operand be a file? */
bool complete_files(const struct command *command);
/* Prints the word and a blank. */
void complete_word(const char *word);
/* Prints the words that the option's value may be. */
void complete_choices(const struct option_spec *spec);
/* Prints help without the characters that would end a quotation. */
void complete_quoted(const char *text);

#endif
