/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing the accumulation matrix (matrix.h), for example after the first step
 * of a ring of three:
 *
 *     step 1 of 4   0>1 c0 +   1>2 c1 +   2>0 c2 +
 *               c0   c1   c2
 *     rank 0    1+   1+  [2+]
 *     rank 1   [2+]  1+   1+
 *     rank 2    1+  [2+]  1+
 */
#include "matrix.h"

#include "plan_draw.h"

#include <plan/index.h>

#include <stdio.h>
#include <string.h>

enum { RANKS_SHOWN = 48, LABEL_BYTES = 16, TEXT_BYTES = 48 };

/* The matrix to draw, and the available room. */
struct frame {
    FILE *file;
    const struct gw_plan *plan;
    const struct gw_plan_trace *trace;
    unsigned step, width;
    int label_width, cell_width;
    unsigned ranks, chunks;
};

static int digits(unsigned number)
{
    return snprintf(NULL, 0, "%u", number);
}

static void lay_out_matrix(struct frame *f)
{
    const struct gw_plan *plan = f->plan;
    int count = 1 + digits(gw_plan_trace_full(f->trace)); /* with its sign */
    int name = 1 + digits(plan->chunks - 1);
    f->label_width = 5 + digits(plan->ranks - 1);
    f->cell_width =
        3 + (count > name ? count : name); /* brackets and a space */
    unsigned room = f->width > (unsigned)f->label_width + 2
                        ? f->width - (unsigned)f->label_width - 2
                        : 0;
    unsigned fit = room / (unsigned)f->cell_width;
    fit = fit > 0 ? fit : 1;
    f->chunks = plan->chunks < fit ? plan->chunks : fit;
    f->ranks = plan->ranks < RANKS_SHOWN ? plan->ranks : RANKS_SHOWN;
}

/* "step 1 of 4" and its transfers, as many as fit. */
static void draw_title(const struct frame *f)
{
    const struct gw_plan *plan = f->plan;
    char item[TEXT_BYTES];
    if (f->step == 0) {
        fprintf(f->file, "before\n");
        return;
    }
    unsigned used =
        (unsigned)fprintf(f->file, "step %u of %u", f->step, plan->steps);
    size_t end = plan->step_begin[f->step];
    for (size_t i = plan->step_begin[f->step - 1]; i < end; i++) {
        char text[GW__TRANSFER_TEXT];
        unsigned length =
            (unsigned)snprintf(item, sizeof item, "   %s",
                               gw__transfer_text(&plan->transfers[i], text));
        if (used + length + (i + 1 < end ? 6 : 0) > f->width) {
            fprintf(f->file, "   ...");
            break;
        }
        fputs(item, f->file);
        used += length;
    }
    fputc('\n', f->file);
}

/* One column; nothing is padded at the end of a line. */
static void put_column(const struct frame *f, unsigned chunk, const char *text)
{
    bool last = chunk + 1 == f->chunks;
    fprintf(f->file, "%-*s", last ? 0 : f->cell_width, text);
}

static void draw_head(const struct frame *f)
{
    char name[TEXT_BYTES];
    fprintf(f->file, "%*s", f->label_width + 2, "");
    for (unsigned c = 0; c < f->chunks; c++) {
        snprintf(name, sizeof name, " c%u", c);
        put_column(f, c, name);
    }
    fputc('\n', f->file);
}

static bool written(const struct frame *f, unsigned rank, unsigned chunk)
{
    if (f->step == 0)
        return false;
    for (size_t i = f->plan->step_begin[f->step - 1];
         i < f->plan->step_begin[f->step]; i++)
        if (f->plan->transfers[i].dst == rank &&
            f->plan->transfers[i].dst_scratch == 0 &&
            f->plan->transfers[i].chunk == chunk)
            return true;
    return false;
}

static void draw_cell(const struct frame *f, unsigned rank, unsigned chunk)
{
    char value[TEXT_BYTES] = ".", cell[TEXT_BYTES + 2];
    unsigned count = gw_plan_trace_count(f->trace, rank, chunk);
    bool complete = count == gw_plan_trace_full(f->trace);
    bool new = written(f, rank, chunk);
    if (count > 0)
        snprintf(value, sizeof value, "%u%c", count, complete ? '=' : '+');
    snprintf(cell, sizeof cell, "%c%s%s", new ? '[' : ' ', value,
             new ? "]" : "");
    put_column(f, chunk, cell);
}

static void draw_row(const struct frame *f, unsigned rank)
{
    fprintf(f->file, "rank %-*u  ", f->label_width - 5, rank);
    for (unsigned c = 0; c < f->chunks; c++)
        draw_cell(f, rank, c);
    fputc('\n', f->file);
}

static void draw_rest(const struct frame *f)
{
    unsigned ranks = f->plan->ranks - f->ranks;
    unsigned chunks = f->plan->chunks - f->chunks;
    if (ranks > 0)
        fprintf(f->file, "(%u more ranks)\n", ranks);
    if (chunks > 0)
        fprintf(f->file, "(%u more chunks do not fit in %u columns)\n", chunks,
                f->width);
}

void matrix_draw(FILE *file, const struct gw_plan *plan,
                 const struct gw_plan_trace *trace, unsigned step,
                 unsigned width)
{
    struct frame f = {
        .file = file,
        .plan = plan,
        .trace = trace,
        .step = step,
        .width = width,
    };
    lay_out_matrix(&f);
    draw_title(&f);
    draw_head(&f);
    for (unsigned rank = 0; rank < f.ranks; rank++)
        draw_row(&f, rank);
    draw_rest(&f);
    fputc('\n', file);
}
