/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of cmd/common. command.c describes a tool's run; read it
 * first.
 */
#ifndef COMMON_INTERNAL_H
#define COMMON_INTERNAL_H

#include "command.h"
#include "common/text/suggest.h"

#include <stdio.h>

/* ---- the tool that runs, and its commands (command.c) ---- */

extern const struct tool *the_tool;
extern const struct command *the_command; /* NULL until it is known */

extern const struct command command_help, command_completion;

/* The words after the tool's name. */
struct typed_words {
    int count;
    char *const *list;
};
extern struct typed_words typed_words;

/* Is it the tool's only command, whose name is not typed? */
bool command_unnamed(const struct command *command);
/* The words that a user types to run it: "collrun plan". Writes and returns
 * `out`. */
const char *command_typed(const struct command *command, char out[96]);

/* ---- options (options.c) ---- */

/* Requests such as `--help`, found before any value is checked. */
struct requested {
    bool help_long, help_short, version;
    bool question; /* the tool's */
};
extern struct requested requested;
/* The options that every command has; ends with name == NULL. */
extern const struct option_spec common_specs[];

/* Gives `text` to the target of `spec`; `typed` is how the option was written.
 * Nothing is changed on error. */
GW_MUST_CHECK enum gw_err option_assign(const struct option_spec *spec,
                                        const char *typed, const char *text,
                                        struct gw_error *why);
/* "4", or "" where the default is not worth printing. */
void option_default(const struct option_spec *spec, char out[64]);
/* Keeps the values of all options, if none are kept yet; restores them. */
void options_keep(void);
void options_restore(void);

/* ---- taking a command line apart (words.c) ---- */

enum item_kind {
    ITEM_END,
    ITEM_OPERAND,
    ITEM_OPTION,
    ITEM_UNKNOWN,  /* no such option */
    ITEM_NO_VALUE, /* a last option without its value */
    ITEM_UNWANTED  /* --flag=value */
};

struct item {
    enum item_kind kind;
    const struct option_spec *spec;
    const char *value; /* of an option; or the operand */
    char typed[64];    /* "--ranks" or "-n" */
    bool by_letter;
};

/* Steps through the words of a command line. `command` NULL: the options of all
 * commands are known, so that the command is found after them. */
struct words {
    int count;
    char **list;
    const struct command *command;
    int next;
    const char *cluster; /* the rest of a cluster such as "-vn4" */
    bool options_ended;  /* by "--", or by the name of a program */
    unsigned operands;
    const struct command *found; /* by the first operand; NULL: none */
};
enum item_kind words_next(struct words *words, struct item *item);

/* ---- help (help.c) ---- */

/* Prints the help of a command; NULL: of the tool. */
void help_show(const struct command *command, bool in_full);

/* ---- the rest ---- */

/* Writes the buffered output. It waits for the reader until SIGINT or SIGTERM
 * comes. After that, output for which there is no room within 200 ms is
 * dropped. */
void output_flush(FILE *file); /* output_flush.c */

void signals_catch(void); /* interrupt.c */
/* computing.c: is computing_begin in effect? The second function is called when
 * a signal has come and is safe in its handler. The third does not return once
 * the watcher ends the process. */
bool computing_now(void);
void computing_wake(void);
void computing_yield(void);
void complaint_clear(void); /* complain.c */
/* Prints the text in pages that fit the terminal. (terminal.c) */
void print_pages(const char *text);

/* After the command has returned: closes a document that is still open. If none
 * was begun and the format is JSON, writes one that contains the error. Returns
 * the exit status, which a full disk may change. (output.c) */
int output_finish(int status);
/* For the watcher of computing.c: closes the document between two rows, or
 * writes one that reports the interruption. No output is possible afterwards.
 */
void output_interrupt(void);

/* ---- open files (files.c) ---- */

/* Raises the soft limit of open files to the hard limit. */
void files_allow(void);

#endif
