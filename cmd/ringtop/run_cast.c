/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --cast: an asciicast v2 file, which asciinema and its web player show: a line
 * of JSON that tells the size, then a line for every picture: when, and what to
 * write to the terminal. A recording is not waited for: its clock is made up.
 */
#include "common/command.h"
#include "paint.h"
#include "show.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t FRAME_NS = 40000000;

struct cast {
    struct show *show;
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
        return gw_fail_errno(why, "writing the cast");
    return GW_OK;
}

static enum gw_err write_header(const struct cast *c, struct gw_error *why)
{
    return write_line(c->file,
                      json_pack("{s:i,s:i,s:i,s:s}", "version", 2, "width",
                                c->show->grid.width, "height",
                                c->show->grid.height, "title", "ringtop"),
                      why);
}

/* Writes what the picture has changed. */
static enum gw_err write_picture(struct cast *c, uint64_t time_ns,
                                 struct gw_error *why)
{
    char *text = NULL;
    size_t bytes = 0;
    struct grid *grid = &c->show->grid;
    show_draw(c->show);
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

static enum gw_err play(struct cast *c, struct gw_error *why)
{
    struct show *show = c->show;
    enum gw_err err = GW_OK;
    uint64_t begin_ns = gw_now_ns(), now_ns = begin_ns;
    while (!err && !interrupted) {
        if (show->player.live)
            while (!show->closed && gw_now_ns() < now_ns + FRAME_NS &&
                   !interrupted)
                show_pull(show, now_ns + FRAME_NS);
        now_ns += FRAME_NS;
        show_advance(show, now_ns);
        err = write_picture(c, now_ns - begin_ns, why);
        if (player_at_end(&show->player))
            break;
    }
    return err;
}

static enum gw_err write_cast(struct cast *c, struct gw_error *why)
{
    enum gw_err err = write_header(c, why);
    if (!err)
        err = play(c, why);
    if (!err && fflush(c->file))
        err = gw_fail_errno(why, "writing the cast");
    return err;
}

int run_cast(struct show *show, const char *path, int width, int height)
{
    struct gw_error why = {.code = GW_OK};
    struct cast cast = {.show = show,
                        .color = strcmp(common.color, "never") != 0};
    if (grid_size(&show->grid, width, height, &why) ||
        grid_size(&cast.before, width, height, &why))
        return complain(&why);
    cast.file = fopen(path, "we");
    enum gw_err err = cast.file ? write_cast(&cast, &why)
                                : gw_fail_errno(&why, "%.200s", path);
    if (cast.file && fclose(cast.file) && !err)
        err = gw_fail_errno(&why, "writing %.200s", path);
    grid_fini(&cast.before);
    return err ? complain(&why) : show_verdict(show);
}
