/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --batch: pictures as plain text. Of a recording, so many, evenly distributed
 * over its events or those of a moment, the last one with all of them, so the
 * output is reproducible. Of a live run, one per interval, until it ends.
 */
#include "common/command.h"
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_row(const struct grid *grid, int y)
{
    int width = grid->width;
    while (width > 0 && grid_at(grid, width - 1, y)->glyph == ' ')
        width--;
    for (int x = 0; x < width; x++) {
        char text[5];
        utf8_of(grid_at(grid, x, y)->glyph, text);
        fputs(text, stdout);
    }
    putchar('\n');
}

/* Blank rows at the end are omitted; an empty line ends the picture. */
static void print_picture(struct show *show)
{
    const struct grid *grid = &show->grid;
    show_draw(show);
    int rows = grid->height;
    for (bool blank = true; blank && rows > 0; rows -= blank)
        for (int x = 0; x < grid->width && blank; x++)
            blank = grid_at(grid, x, rows - 1)->glyph == ' ';
    for (int y = 0; y < rows; y++)
        print_row(grid, y);
    putchar('\n');
    fflush(stdout);
}

static void show_recording(struct show *show, unsigned frames)
{
    size_t first = show->until.first, count = show->until.end - first;
    show->player.untimed = true;
    for (unsigned i = 1; i <= frames && !interrupted; i++) {
        show_events(show, first + (size_t)((double)count * i / frames + 0.5));
        print_picture(show);
    }
}

static void follow_run(struct show *show, const struct batch_options *options)
{
    uint64_t next_ns = gw_now_ns() + options->every_ns;
    for (unsigned i = 0; options->frames == 0 || i < options->frames; i++) {
        while (!show->closed && gw_now_ns() < next_ns && !interrupted) {
            show_pull(show, next_ns);
            show_advance(show, gw_now_ns());
        }
        next_ns += options->every_ns;
        show_advance(show, gw_now_ns());
        print_picture(show);
        if (player_at_end(&show->player) || interrupted || ferror(stdout))
            return;
    }
}

int run_batch(struct show *show, const struct batch_options *options)
{
    struct gw_error why;
    if (grid_size(&show->grid, options->width, options->height, &why))
        return complain(&why);
    show->view.page = options->page;
    if (show->player.live)
        follow_run(show, options);
    else
        show_recording(show, options->frames ? options->frames : 1);
    if (fflush(stdout) || ferror(stdout))
        return complain_with(GW_ESYS, "write the pictures: %s",
                             strerror(errno));
    return show_verdict(show);
}
