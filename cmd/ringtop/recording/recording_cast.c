/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An asciicast v2 file, for asciinema and its web player: a line of JSON with
 * the size, then a line per picture with its time and the output for the
 * terminal.
 */
#include "paint.h"
#include "recording.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t FRAME_NS = 40000000;

struct cast {
    FILE *file;
    struct grid before;
    bool begun;
    bool color;
};

static enum gw_err write_line(FILE *file, json_t *line, struct gw_error *why)
{
    int failed =
        line ? json_dumpf(line, file, JSON_COMPACT | JSON_REAL_PRECISION(9))
             : -1;
    json_decref(line);
    if (!line)
        return gw_fail(why, GW_ENOMEM, "a line of the cast");
    if (failed || fputc('\n', file) == EOF)
        return gw_fail_errno(why, "write to the cast");
    return GW_OK;
}

static enum gw_err write_header(const struct cast *c, const struct grid *grid,
                                struct gw_error *why)
{
    return write_line(c->file,
                      json_pack("{s:i,s:i,s:i,s:s}", "version", 2, "width",
                                grid->width, "height", grid->height, "title",
                                "ringtop"),
                      why);
}

/* Writes the changes of the picture. */
static enum gw_err write_picture(void *developer, const struct grid *grid,
                                 uint64_t time_ns, struct gw_error *why)
{
    struct cast *c = developer;
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = open_memstream(&text, &bytes);
    if (!page)
        return gw_fail(why, GW_ENOMEM, "a picture of the cast");
    bool changed = paint(page, grid, c->begun ? &c->before : NULL, c->color);
    enum gw_err err =
        fclose(page) ? gw_fail(why, GW_ENOMEM, "a picture") : GW_OK;
    if (!err && changed)
        err = write_line(
            c->file,
            json_pack("[f,s,s#]", (double)time_ns * 1e-9, "o", text, bytes),
            why);
    free(text);
    memcpy(c->before.cells, grid->cells,
           (size_t)grid->width * (size_t)grid->height * sizeof *grid->cells);
    c->begun = true;
    return err;
}

enum gw_err recording_cast(struct show *show, FILE *file, bool color,
                           struct gw_error *why)
{
    struct cast cast = {.file = file, .color = color};
    const struct grid *grid = &show->grid;
    uint64_t end_ns;
    enum gw_err err = grid_size(&cast.before, grid->width, grid->height, why);
    if (!err)
        err = write_header(&cast, grid, why);
    if (!err)
        err =
            recording_play(show, FRAME_NS, write_picture, &cast, &end_ns, why);
    grid_fini(&cast.before);
    return err;
}
