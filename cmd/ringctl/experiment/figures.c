/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See figures.h. The time of an op is from its first beginning at any member to
 * its last end, so that a recovery shows.
 */
#include "figures.h"

#include "common/command.h"
#include "ringctl/child_process.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPS_MAX = 1 << 20 };

struct op_row {
    uint64_t begin_ns, end_ns;
    struct gw_nodes nodes; /* that have ended it */
};

struct step_row {
    bool known;
    double loss;
};

struct tables {
    struct op_row *ops;
    struct step_row *steps;
};

static void add_op(struct op_row *op, const struct gw_event *event)
{
    if (event->kind == GW_EV_OP_BEGIN &&
        (!op->begin_ns || event->time_ns < op->begin_ns))
        op->begin_ns = event->time_ns;
    if (event->kind != GW_EV_OP_END || event->value != GW_OK)
        return;
    op->end_ns = event->time_ns > op->end_ns ? event->time_ns : op->end_ns;
    if (event->rank < GW_NODES_MAX)
        op->nodes.words[event->rank / 64] |= UINT64_C(1) << event->rank % 64;
}

static void add_event(struct tables *t, const struct gw_event *event)
{
    bool op = event->kind == GW_EV_OP_BEGIN || event->kind == GW_EV_OP_END;
    if (op && event->op < OPS_MAX)
        add_op(&t->ops[event->op], event);
    if (event->kind == GW_EV_LOSS && event->step < OPS_MAX)
        t->steps[event->step] =
            (struct step_row){true, (double)event->value / 1e9};
}

static enum gw_err read_events(const char *path, struct tables *tables,
                               struct gw_error *why)
{
    char *line = NULL;
    size_t room = 0;
    enum gw_err err = GW_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return gw_fail_errno(why, "%s", path);
    while (!err && getline(&line, &room, file) >= 0) {
        struct gw_event event;
        err = gw_event_parse(line, &event, why);
        if (!err)
            add_event(tables, &event);
    }
    free(line);
    fclose(file);
    return err ? gw_wrap(why, err, "%s", path) : GW_OK;
}

/* ---- writing ---- */

static unsigned print_ops(FILE *file, const struct tables *t)
{
    unsigned count = 0;
    for (unsigned i = 0; i < OPS_MAX; i++) {
        const struct op_row *op = &t->ops[i];
        if (!op->begin_ns || op->end_ns <= op->begin_ns)
            continue;
        fprintf(file, "{\"op\":%u,\"time_us\":%.3f,\"ranks\":%u}\n", i,
                (double)(op->end_ns - op->begin_ns) / 1e3,
                gw_nodes_count(&op->nodes));
        count++;
    }
    return count;
}

static unsigned print_steps(FILE *file, const struct tables *t)
{
    unsigned count = 0;
    for (unsigned i = 0; i < OPS_MAX; i++)
        if (t->steps[i].known) {
            fprintf(file, "{\"step\":%u,\"loss\":%.9f}\n", i, t->steps[i].loss);
            count++;
        }
    return count;
}

static const struct figure_of {
    const char *name;
    unsigned (*print)(FILE *file, const struct tables *tables);
    const char *plot;
} figures[] = {
    {"ops", print_ops, "-x op -y time --linear --title 'time of each op'"},
    {"steps", print_steps,
     "-x step -y loss --linear --title 'loss of each step'"},
};

static enum gw_err close_file(FILE *file, const char *path,
                              struct gw_error *why)
{
    bool failed = ferror(file) != 0;
    return fclose(file) != 0 || failed ? gw_fail_errno(why, "%s", path) : GW_OK;
}

/* The rows, and the command that draws them. Without rows, there is no file. */
static enum gw_err write_one(const struct figure_of *f, const char *directory,
                             const struct tables *tables, FILE *script,
                             struct gw_error *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/%s.jsonl", directory, f->name);
    FILE *file = fopen(path, "we");
    if (!file)
        return gw_fail_errno(why, "%s", path);
    if (f->print(file, tables) > 0)
        fprintf(script, "collrun plot %s.jsonl %s --svg figures/%s.svg\n",
                f->name, f->plot, f->name);
    else
        unlink(path);
    return close_file(file, path, why);
}

static enum gw_err write_all(const char *directory, const struct tables *tables,
                             struct gw_error *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/figures.sh", directory);
    FILE *script = fopen(path, "we");
    if (!script)
        return gw_fail_errno(why, "%s", path);
    fputs("#!/bin/sh -e\n# Draws the figures again, from the rows.\n"
          "cd \"$(dirname \"$0\")\"\nmkdir -p figures\n",
          script);
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && !err; i++)
        err = write_one(&figures[i], directory, tables, script, why);
    enum gw_err last = close_file(script, path, err ? NULL : why);
    return err ? err : last;
}

enum gw_err figures_write(const char *directory, struct gw_error *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/events.jsonl", directory);
    if (access(path, R_OK) != 0)
        return GW_OK;
    struct tables tables = {calloc(OPS_MAX, sizeof *tables.ops),
                            calloc(OPS_MAX, sizeof *tables.steps)};
    enum gw_err err = tables.ops && tables.steps
                          ? read_events(path, &tables, why)
                          : gw_fail(why, GW_ENOMEM, "the rows of figures");
    if (!err)
        err = write_all(directory, &tables, why);
    free(tables.ops);
    free(tables.steps);
    return err;
}

/* ---- drawing ---- */

/* The other tools are in the same directory as this one. */
static void make_path(char path[2 * PATH_MAX])
{
    char self[PATH_MAX];
    const char *before = getenv("PATH");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    snprintf(path, 2 * (size_t)PATH_MAX, "%s:%s", self,
             before ? before : "/usr/bin:/bin");
}

bool figures_draw(const char *directory)
{
    char path[2 * PATH_MAX];
    const char *const words[] = {"sh", "figures.sh", NULL};
    const char *const set[] = {"PATH", path, NULL};
    struct child_process shell = {
        .words = words, .directory = directory, .set = set};
    struct gw_error why;
    int status;
    snprintf(path, sizeof path, "%.4000s/figures.sh", directory);
    if (access(path, R_OK) != 0)
        return true;
    make_path(path);
    shell.output = fopen("/dev/null", "we");
    enum gw_err err = child_process_run(&shell, &status, &why);
    if (shell.output)
        fclose(shell.output);
    if (!err && status == 0)
        return true;
    fprintf(stderr, "ringctl: the archive has no figures; its figures.sh draws "
                    "them\n");
    snprintf(path, sizeof path, "%.4000s/figures", directory);
    rmdir(path);
    return false;
}
