/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One table of commands and options a tool, from which come the parser, help,
 * "did you mean", shell completion and the check that the man page is complete.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <gradwire/gradwire.h>

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_UNSIGNED, /* unsigned */
    OPTION_COUNT,    /* unsigned, from 1 on: 0 is for what was not said */
    OPTION_BYTES,    /* uint64_t; takes K M G */
    OPTION_DURATION, /* uint64_t nanoseconds; takes us ms s */
    OPTION_REAL,     /* double */
    OPTION_TEXT,     /* const char * */
    OPTION_CHOICE,   /* const char *; `choices` is "shm|ipc|tcp" */
    OPTION_SEED      /* uint64_t; a number, or "random" */
};

/* One option. `target` is where the value goes; the default is what is there
 * before parsing. */
struct option_spec {
    const char *name; /* "ranks", without dashes */
    char letter;      /* 'n', or 0 */
    enum option_kind kind;
    void *target;
    const char *value;   /* name of the value in help: "N"; NULL for flags */
    const char *help;    /* one line */
    const char *choices; /* OPTION_CHOICE; also offered by completion */
};

struct command {
    const char *name;
    const char *operands; /* "ALGO|FILE.plan", as in help; NULL: none */
    const char *help;     /* one line */
    const char *examples; /* two or three lines, shown first by --help */
    const struct option_spec *options; /* ends with name == NULL; beside the
                                          common ones */
    unsigned operands_min, operands_max;
    bool program;  /* the first operand is one, and what follows is its own */
    bool computes; /* holds nothing but memory: see computing_begin */
    /* Returns the exit status. */
    int (*run)(int operand_count, char **operands);
};

/* A word that people will try, and what to do instead: "use wait COND". */
struct absent {
    const char *name, *instead;
};

struct tool {
    const char *name; /* "collrun" */
    const char *summary;
    const struct command *const *commands; /* NULL-terminated */
    /* Instead of commands: the tool does one thing, whose name is the tool's
     * and is not typed. `help` and `completion` are there all the same. */
    const struct command *only;
    /* Beside commands: what runs when no command is named, or a file is: a
     * shell, which runs commands by tool_line. Then commands may be cut short
     * as long as it is clear which is meant. */
    const struct command *shell;
    const struct option_spec *options; /* of all its commands, or NULL; ends
                                          with name == NULL */
    /* A flag that asks something of its own, and the command that answers when
     * none is named; its own operands need not be there then. Or NULL. */
    const bool *question;
    const struct command *answer;
    const struct absent *absent; /* or NULL; ends with name == NULL */
    const char *examples;
};

/* Options that every command has: -o/--output, --seed, --timeout, --color,
 * -v/--verbose. Set by tool_main before `run`. */
struct common_options {
    const char *output; /* "table", "json", "jsonl", "csv" */
    const char *color;  /* "auto", "always", "never" */
    uint64_t seed;
    uint64_t timeout_ns; /* 0: not given */
    bool verbose;
};
extern struct common_options common;

/* Parses, dispatches and returns the exit status. Options may stand before or
 * after operands and before the command; "--" ends them. -h is short help,
 * --help is long, `help CMD` too; --version; `completion bash|zsh|fish` prints
 * a completion script. A typo gets a suggestion and status 64. */
int tool_main(const struct tool *tool, int argc, char **argv);

/* For a shell: runs one more command of the tool, as if it had been typed
 * alone, and returns its exit status. Options have the values that they had
 * when the first line began (so what was told to the shell holds for all), and
 * its output is a document of its own. A command may call it, too, when it has
 * copied its options. `words` need not outlive the call. */
int tool_line(int count, char **words);
/* Of the tool, then help and completion; NULL past the last. */
const struct command *command_at(unsigned index);
/* The command that `name` means. GW_EINVAL: none ("did you mean"), or several:
 * "ambiguous: pa: pace, pause". */
GW_MUST_CHECK enum gw_err command_find(const char *name,
                                       const struct command **command,
                                       struct gw_error *why);
/* The options that `command` takes, in groups: its own, the tool's, the common
 * ones; NULL past the last. A group ends with name == NULL. */
const struct option_spec *command_options(const struct command *command,
                                          unsigned group);

/* "collrun: SENTENCE" on stderr, in red on a terminal; returns the exit status
 * of error->code. */
int complain(const struct gw_error *error);
/* The same with a sentence of one's own. */
int complain_with(enum gw_err code, const char *format, ...) GW_PRINTF(2, 3);
/* What the library notices beside all calls (gw_notice_to) is said on stderr.
 */
void notices_on_stderr(void);
/* From now on complaints are not said, only counted: another process says what
 * there is to say. */
void complain_quietly(void);
/* This process is one rank of an engine's: a loss of others, or being told to
 * end, is a reason to be started again, which exit status 75 asks for
 * (EX_TEMPFAIL of sysexits). */
void exit_for_engine(void);
/* The exit status that `code` ends this tool with. */
int exit_status(enum gw_err code);
/* The first error that was complained of, or NULL: what output_end is told
 * when a command goes on after one. */
const struct gw_error *complaint(void);
/* What goes wrong from now on did so at `place`: "FILE:3", which is said before
 * the sentence; NULL: at none. Returns the place before. */
const char *complain_at(const char *place);

/* True when colour may be used on `fd`: a terminal, NO_COLOR unset, TERM not
 * dumb, or as --color says. */
bool color_on(int fd);
/* Progress for a person: one line on a terminal's stderr, overwritten; nothing
 * when stderr is no terminal. An empty line clears it. */
void progress(const char *format, ...) GW_PRINTF(1, 2);

/* The signal, set by SIGINT and SIGTERM once tool_main runs; commands that take
 * long look at it and end with what they have, marked partial, and status 130.
 */
extern volatile int interrupted;
/* This signal sets it, too, unless it is ignored. */
void interrupt_by(int number);
/* A terminal that is closed and its Ctrl-\ set it, too: for commands that would
 * leave something behind, as a run or a screen. */
void interrupt_by_terminal(void);
/* Until computing_end the process holds nothing but memory: no child, no file
 * that is half written, no terminal in another mode. Then SIGINT and SIGTERM
 * end it with a valid document and status 130 wherever it is, if it has not
 * soon ended by itself. Not to be nested; a shell's lines are never computing.
 */
void computing_begin(void);
void computing_end(void);
/* Called before the process ends by a second Ctrl-C: must be safe in a signal
 * handler. NULL at first. */
extern void (*interrupted_twice)(void);

#endif
