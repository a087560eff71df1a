/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun plot: figures of results. gnuplot draws them; the script can be kept,
 * to change a figure by hand.
 */
#include "collrun/collrun.h"
#include "common/output.h"
#include "script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *svg, *png, *script_path, *x, *y = "time", *title;
static bool linear;

static const char svg_terminal[] =
    "svg size 960,600 dynamic background 'white'",
                  png_terminal[] = "pngcairo size 1200,750";

static bool is_installed(void)
{
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

static enum gw_err write_script(const struct figure *figure,
                                const struct script *script,
                                struct gw_error *why)
{
    FILE *file = fopen(script_path, "w");
    if (!file)
        return gw_fail(why, GW_ESYS, "%.200s: %s", script_path,
                       strerror(errno));
    script_print(file, figure, script);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        return gw_fail(why, GW_ESYS, "%.200s: %s", script_path,
                       strerror(errno));
    return GW_OK;
}

/* gnuplot does not report a full disk, so this checks the end of the file. Pipes
 * and devices, such as /dev/stdout, cannot be checked. */
static bool is_complete(const char *path)
{
    char end[65] = "";
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    FILE *file = fopen(path, "r");
    size_t bytes = 0;
    if (file && fseek(file, -(long)(sizeof end - 1), SEEK_END) == 0)
        bytes = fread(end, 1, sizeof end - 1, file);
    if (file)
        fclose(file);
    return memmem(end, bytes, "</svg>", 6) || memmem(end, bytes, "IEND", 4);
}

/* gnuplot prints the reason of a failure itself. */
static enum gw_err draw(const struct figure *figure,
                        const struct script *script, struct gw_error *why)
{
    if (!is_installed())
        return gw_fail(why, GW_EUNREACH,
                       "gnuplot draws figures and is not installed (Debian: "
                       "gnuplot-nox); --script FILE writes its input");
    FILE *gnuplot = popen("gnuplot", "w");
    if (!gnuplot)
        return gw_fail(why, GW_ESYS, "gnuplot: %s", strerror(errno));
    script_print(gnuplot, figure, script);
    int status = pclose(gnuplot);
    if (status == 0 && !is_complete(script->path))
        return gw_fail(why, GW_ESYS,
                       "%.200s: the figure is incomplete; is the disk full?",
                       script->path);
    if (status != 0)
        return gw_fail(why, GW_ESYS, "gnuplot could not draw %.200s",
                       script->path);
    return GW_OK;
}

static enum gw_err make_all(const struct figure *figure, struct gw_error *why)
{
    struct script script = {.terminal = png ? png_terminal : svg_terminal,
                            .path = png   ? png
                                    : svg ? svg
                                          : "figure.svg",
                            .title = title,
                            .linear = linear};
    enum gw_err err = GW_OK;
    if (script_path)
        err = write_script(figure, &script, why);
    if (!err && png)
        err = draw(figure, &script, why);
    script.terminal = svg_terminal;
    script.path = svg;
    return !err && svg ? draw(figure, &script, why) : err;
}

static size_t points_of(const struct figure *figure)
{
    size_t points = 0;
    for (size_t i = 0; i < figure->count; i++)
        points += figure->series[i].count;
    return points;
}

static int report(const struct figure *figure)
{
    static const struct field fields[] = {
        {"x", NULL, FIELD_TEXT, 0, false},
        {"y", NULL, FIELD_TEXT, 0, false},
        {"series", NULL, FIELD_INTEGER, 0, false},
        {"points", NULL, FIELD_INTEGER, 0, false}};
    const union value values[] = {{.text = figure->x_name},
                                  {.text = figure->y_name},
                                  {.integer = (int64_t)figure->count},
                                  {.integer = (int64_t)points_of(figure)}};
    struct gw_error why;
    if (output_record("collrun plot", common.output, fields, values, 4, NULL,
                      false, &why))
        return complain(&why);
    return 0;
}

static int run(int operand_count, char **operands)
{
    const struct axes axes = {x, y};
    struct figure figure;
    struct gw_error why;
    if (!svg && !png && !script_path)
        return complain_with(GW_EINVAL, "plot: no picture: give --svg FILE, "
                                        "--png FILE or --script FILE");
    enum gw_err err =
        figure_read(operands, (size_t)operand_count, &axes, &figure, &why);
    if (!err)
        err = make_all(&figure, &why);
    int status = err ? complain(&why) : report(&figure);
    figure_free(&figure);
    return status;
}

static const struct option_spec options[] = {
    {"svg", 0, OPTION_TEXT, &svg, "FILE", "Write the figure as SVG.", NULL},
    {"png", 0, OPTION_TEXT, &png, "FILE", "Write the figure as PNG.", NULL},
    {"script", 0, OPTION_TEXT, &script_path, "FILE",
     "Write the input of gnuplot, with the data.", NULL},
    {"y", 'y', OPTION_TEXT, &y, "AXIS",
     "Vertical axis: time, algbw, busbw, or a field of the results.", NULL},
    {"x", 'x', OPTION_TEXT, &x, "FIELD",
     "Horizontal axis. Default: bytes, else ranks, else another number.", NULL},
    {"title", 0, OPTION_TEXT, &title, "TEXT", "Title of the figure.", NULL},
    {"linear", 0, OPTION_FLAG, &linear, NULL,
     "Linear axes instead of logarithmic ones.", NULL},
    {NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL},
};

const struct command command_plot = {
    .name = "plot",
    .operands = "FILE...",
    .help = "draw results of bench, price, sim, tune and others",
    .examples =
        "collrun bench allreduce --algo all -n 4 -o jsonl >all.jsonl\n"
        "collrun plot all.jsonl --svg all.svg\n"
        "collrun plot ours.jsonl theirs.jsonl -y busbw --png busbw.png\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 64,
    .run = run,
};
