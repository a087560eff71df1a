/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of cmd/common share among themselves. command.c tells the
 * story of a tool's run; read it first.
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

/* Is it the tool itself: its name is not typed? */
bool command_unnamed(const struct command *command);
/* What is typed to run it: "collrun plan"; writes and returns `out`. */
const char *command_typed(const struct command *command, char out[96]);

/* ---- options (options.c) ---- */

/* What `--help` and its like asked for, before any value is looked at. */
struct asked {
    bool help_long, help_short, version;
    bool question; /* the tool's */
};
extern struct asked asked;
/* The options that every command has; ends with name == NULL. */
extern const struct option_spec common_specs[];

/* Gives `text` to the target of `spec`; `typed` is how the option was written.
 * Nothing is changed on error. */
GW_MUST_CHECK enum gw_err option_assign(const struct option_spec *spec,
                                        const char *typed, const char *text,
                                        struct gw_error *why);
/* "4", or "" where there is no default worth a word. */
void option_default(const struct option_spec *spec, char out[64]);
/* Keeps the values of all options, if none are kept yet; gives them back. */
void options_keep(void);
void options_restore(void);

/* ---- taking a command line apart (words.c) ---- */

enum item_kind {
    ITEM_END,
    ITEM_OPERAND,
    ITEM_OPTION,
    ITEM_UNKNOWN,  /* no such option */
    ITEM_NO_VALUE, /* an option at the end that wants one */
    ITEM_UNWANTED  /* --flag=value */
};

struct item {
    enum item_kind kind;
    const struct option_spec *spec;
    const char *value; /* of an option; or the operand */
    char typed[64];    /* "--ranks" or "-n" */
    bool by_letter;
};

/* Steps through the words of a command line. `command` NULL: the options of
 * all commands are known, which is how the command is found behind them. */
struct words {
    int count;
    char **list;
    const struct command *command;
    int next;
    const char *cluster; /* letters left of "-vn4" */
    bool options_ended;  /* by "--", or by the name of a program */
    unsigned operands;
    bool program; /* the second operand is one */
};
enum item_kind words_next(struct words *words, struct item *item);

/* ---- help (help.c) ---- */

void help_tool(FILE *file, bool in_full);
void help_command(FILE *file, const struct command *command, bool in_full);

/* ---- the rest ---- */

/* Writes what is buffered. It waits for a reader until SIGINT or SIGTERM comes;
 * after that it drops what still has no room 200 ms later. */
void output_flush(FILE *file); /* output_flush.c */

void signals_catch(void); /* interrupt.c */
/* computing.c: whether computing_begin holds; a signal has come (safe in its
 * handler); returns never once the watcher ends the process. */
bool computing_now(void);
void computing_wake(void);
void computing_yield(void);
void complaint_clear(void); /* complain.c */
/* Of the terminal at `fd`; 80 if it does not say. (terminal.c) */
int terminal_columns(int fd);

/* When the command has returned: closes a document that is still open, or, if
 * none was begun and the format is JSON, writes one that says what went wrong.
 * Returns the exit status, which a full disk may change. (output.c) */
int output_finish(int status);
/* For the watcher of computing.c: closes the document between two rows, or
 * writes one that says that it was interrupted. Nothing can be printed
 * afterwards. */
void output_cut(void);

/* ---- open files (files.c) ---- */

/* As many as the hard limit allows. */
void files_allow(void);

#endif
