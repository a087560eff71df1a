/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The style for this process's output. The only file of the drawing with system
 * calls.
 */
#include "gantt.h"

#include "common/command.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static unsigned columns_of(int fd)
{
    enum { USUAL = 80 };
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? (unsigned)width : USUAL;
}

struct gantt_style gantt_style_of(FILE *file)
{
    return (struct gantt_style){
        .width = columns_of(fileno(file)),
        .color = color_on(fileno(file)),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}
