/* SPDX-License-Identifier: MIT
 *
 * Prints the text form of plans: plain transfers without loops. Lines are
 * broken at 80 columns; the lines that continue a step are indented.
 */
#include "index.h"

#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 80 };

char gw__action_sign(unsigned action)
{
    static const char signs[] = {'=', '+', '|', '?'};
    return signs[action & 3];
}

/* "1", or "1.2" with scratch. */
static const char *holder_text(unsigned rank, unsigned scratch, char out[16])
{
    if (scratch)
        snprintf(out, 16, "%u.%u", rank, scratch);
    else
        snprintf(out, 16, "%u", rank);
    return out;
}

const char *gw__moves_text(const struct gw_transfer *x,
                           char out[GW__TRANSFER_TEXT])
{
    char src[16], dst[16];
    snprintf(out, GW__TRANSFER_TEXT, "%s>%s c%u",
             holder_text(x->src, x->src_scratch, src),
             holder_text(x->dst, x->dst_scratch, dst), x->chunk);
    return out;
}

const char *gw__transfer_text(const struct gw_transfer *x,
                              char out[GW__TRANSFER_TEXT])
{
    size_t used = strlen(gw__moves_text(x, out));
    used += (size_t)snprintf(out + used, GW__TRANSFER_TEXT - used, " %c",
                             gw__action_sign(x->action));
    if (x->channel)
        snprintf(out + used, GW__TRANSFER_TEXT - used, " @%u", x->channel);
    return out;
}

/* A name is one word; a character that would end it becomes `_`. */
static void print_name(const char *algo, FILE *file)
{
    fputs(" name=", file);
    for (; *algo; algo++)
        fputc(*algo > ' ' && *algo < 127 && *algo != '#' ? *algo : '_', file);
}

void gw__plan_print_header(const struct gw_plan *plan, FILE *file)
{
    fprintf(file, "%s ranks=%u chunks=%u", gw_collective_name(plan->collective),
            plan->ranks, plan->chunks);
    if (gw_collective_rooted(plan->collective))
        fprintf(file, " root=%u", plan->root);
    if (plan->ports)
        fprintf(file, " ports=%u", plan->ports);
    if (*plan->algo)
        print_name(plan->algo, file);
}

/* One word of a line that is broken at 80 columns. */
static void print_word(const char *text, size_t *column, FILE *file)
{
    size_t length = strlen(text);
    if (*column + 3 + length > LINE_COLUMNS) {
        fputs("\n    ", file);
        *column = 4;
    }
    fprintf(file, "   %s", text);
    *column += 3 + length;
}

/* The first chunk from `from` on that is in another state than `from`. */
static unsigned end_of_run(const unsigned char *row, unsigned chunks,
                           unsigned from, unsigned condition)
{
    unsigned end = from;
    while (end < chunks && (row[end] & condition) == (row[from] & condition))
        end++;
    return end;
}

static void print_condition(const struct gw_plan *plan, unsigned condition,
                            FILE *file)
{
    const char *name = condition == GW_HAS ? "has" : "wants";
    size_t column = 0;
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        const unsigned char *row =
            plan->conditions + rank * (size_t)plan->chunks;
        unsigned end;
        for (unsigned first = 0; first < plan->chunks; first = end) {
            char text[48];
            end = end_of_run(row, plan->chunks, first, condition);
            if (!(row[first] & condition))
                continue;
            if (end - first == 1)
                snprintf(text, sizeof text, "%u c%u", rank, first);
            else
                snprintf(text, sizeof text, "%u c%u..%u", rank, first, end - 1);
            if (column == 0)
                column = (size_t)fprintf(file, "%s", name);
            print_word(text, &column, file);
        }
    }
    if (column)
        fputc('\n', file);
}

static void print_step(const struct gw_plan *plan, unsigned step, FILE *file)
{
    size_t column = 4;
    fputs("step", file);
    size_t end = plan->step_begin[step + 1];
    for (size_t t = plan->step_begin[step]; t < end; t++) {
        char text[GW__TRANSFER_TEXT];
        print_word(gw__transfer_text(&plan->transfers[t], text), &column, file);
    }
    fputc('\n', file);
}

enum gw_err gw_plan_print(const struct gw_plan *plan, FILE *file,
                          struct gw_error *why)
{
    gw__plan_print_header(plan, file);
    fputc('\n', file);
    if (plan->conditions) {
        print_condition(plan, GW_HAS, file);
        print_condition(plan, GW_WANTS, file);
    }
    for (unsigned step = 0; step < plan->steps; step++)
        print_step(plan, step, file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a plan");
    return GW_OK;
}
