/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One table of commands and options per tool. The parser, the help, "did you
 * mean", shell completion and the completeness check of the man page all come
 * from it.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <gradwire/gradwire.h>

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_UNSIGNED, /* unsigned */
    OPTION_COUNT,    /* unsigned, at least 1; 0 means not given */
    OPTION_BYTES,    /* uint64_t; takes K M G */
    OPTION_DURATION, /* uint64_t nanoseconds; takes us ms s */
    OPTION_REAL,     /* double */
    OPTION_TEXT,     /* const char * */
    OPTION_LIST,     /* const char *; repeated ones are joined by a comma */
    OPTION_CHOICE,   /* const char *; `choices` is "shm|ipc|tcp" */
    OPTION_SEED      /* uint64_t; a number, or "random" */
};

/* One option. `target` receives the value; its value before parsing is the
 * default. */
struct option_spec {
    const char *name; /* "ranks", without dashes */
    char letter;      /* 'n', or 0 */
    enum option_kind kind;
    void *target;
    const char *value;   /* name of the value in help: "N"; NULL for flags */
    const char *help;    /* one line */
    const char *choices; /* OPTION_CHOICE; also offered by completion */
};

/* The heading of the options, or of the commands, from `first` on, in help. */
struct option_group {
    const char *first, *heading;
};

struct command {
    const char *name;
    const char *operands; /* "ALGO|FILE.plan", as in help; NULL: none */
    const char *help;     /* one line */
    const char *examples; /* two or three lines, shown first by --help */
    const struct option_spec *options; /* in addition to the common ones; ends
                                          with name == NULL */
    const struct option_group *groups; /* in the order of the options; ends with
                                          first == NULL; NULL: "Options" */
    unsigned operands_min, operands_max;
    bool program; /* the first operand is a program, the rest its arguments */
    const char *program_after; /* the same after this operand; NULL: none */
    bool computes; /* holds nothing but memory: see computing_begin */
    /* Finds errors in the operands before anything runs. Pure. Or NULL. */
    enum gw_err (*check)(int operand_count, char **operands,
                         struct gw_error *why);
    /* Returns the exit status. */
    int (*run)(int operand_count, char **operands);
};

/* A word that users will try, and the right command: "use wait COND". */
struct absent {
    const char *name, *instead;
};

struct tool {
    const char *name; /* "collrun" */
    const char *summary;
    const struct command *const *commands; /* NULL-terminated */
    /* In the order of the commands, ending as a command's; or NULL. */
    const struct option_group *groups;
    /* Instead of commands: the tool has one command with the tool's own name,
     * which is not typed. `help` and `completion` still exist. */
    const struct command *only;
    /* In addition to commands: runs when no command is named, or when a file
     * is. It is a shell that runs commands by tool_line. Command names may then
     * be abbreviated as long as they are unambiguous. */
    const struct command *shell;
    const struct option_spec *options; /* for all its commands, or NULL; ends
                                          with name == NULL */
    /* A flag that is a request of its own, and the command that handles it when
     * none is named. The command's operands are optional then. Or NULL. */
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

/* Parses, dispatches and returns the exit status. Options are allowed before
 * and after operands and before the command; "--" ends them. -h is short help,
 * --help and `help CMD` are long. `completion bash|zsh|fish` prints a
 * completion script. A typo gets a suggestion and status 64. */
int tool_main(const struct tool *tool, int argc, char **argv);

/* For a shell: runs one more command of the tool, as if it had been typed
 * alone, and returns its exit status. Options start with their values from the
 * first command line, so an option given to the shell holds for all lines. The
 * output is a separate document. A command may also call it once it has copied
 * its options. `words` need not outlive the call. */
int tool_line(int count, char **words);
/* Would tool_line fail, since `check` of the command finds an error? */
bool tool_line_fails(int count, char **words);
/* A person types the lines, at a terminal: help has pages. */
extern bool person_types;
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
/* The same with another sentence. */
int complain_with(enum gw_err code, const char *format, ...) GW_PRINTF(2, 3);
/* Prints the library's notices (gw_notice_to) on stderr. */
void notices_on_stderr(void);
/* From now on complaints are counted, not printed: another process reports
 * them. */
void complain_quietly(void);
/* This process is one rank of an engine. When it loses other ranks or is asked
 * to end, it should be started again, which exit status 75 requests
 * (EX_TEMPFAIL of sysexits). */
void exit_for_engine(void);
/* The exit status that `code` ends this tool with. */
int exit_status(enum gw_err code);
/* The first error complained of, or NULL: the error for output_end when a
 * command continues after one. */
const struct gw_error *complaint(void);
/* Its exit status, or 0. */
int complaint_status(void);
/* Errors from now on have occurred at `place`, "FILE:3", which is printed
 * before the sentence; NULL: no place. Returns the previous place. */
const char *complain_at(const char *place);

/* True when colour may be used on `fd`: a terminal, NO_COLOR unset, TERM not
 * dumb; --color overrides. */
bool color_on(int fd);
/* True: a person's terminal, and not a launcher's, which prints the text
 * elsewhere. */
bool is_terminal(int fd);
/* True: a terminal that has cursor control. */
bool is_screen(int fd);
/* The width of the terminal at `fd`. Without one: $COLUMNS, or 80. */
int terminal_columns(int fd);
/* Progress for a person: one line on stderr, overwritten; nothing when stderr
 * is not a terminal. An empty line clears it. */
void progress(const char *format, ...) GW_PRINTF(1, 2);

/* The signal, set by SIGINT and SIGTERM once tool_main runs. Long commands
 * check it and end with a partial result, marked as such, and status 130. */
extern volatile int interrupted;
/* Hanging up the terminal and Ctrl-\ set it, too: for commands that would leave
 * a run or a changed screen. */
void interrupt_by_terminal(void);
/* Until computing_end the process holds nothing but memory: no child, no
 * half-written file, no terminal in another mode. SIGINT and SIGTERM then end
 * it anywhere, with a valid document and status 130, unless it soon ends by
 * itself. Does not nest. The lines of a shell are never computing. */
void computing_begin(void);
void computing_end(void);
/* Called before the process ends by a second Ctrl-C: must be safe in a signal
 * handler. NULL at first. */
extern void (*interrupted_twice)(void);

#endif
