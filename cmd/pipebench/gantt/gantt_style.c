/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The style for this process's output. The only file of the drawing with system
 * calls.
 */
#include "gantt.h"

#include "common/command.h"

#include <langinfo.h>
#include <string.h>

struct gantt_style gantt_style_of(FILE *file)
{
    return (struct gantt_style){
        .width = (unsigned)terminal_columns(fileno(file)),
        .color = color_on(fileno(file)),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}
