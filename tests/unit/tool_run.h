/* SPDX-License-Identifier: MIT
 *
 * Runs a tool in a child process and records its output.
 */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "common/command.h"

struct tool_result {
    int status;
    char out[8192], err[4096];
};

/* `line` is split at blanks: "paint -n 4 wall". */
struct tool_result tool_run(const struct tool *tool, const char *line);
/* It ends with `status`, and its output contains `out` and `err`. */
void tool_expect(const struct tool *tool, const char *line, int status,
                 const char *out, const char *err);

#endif
