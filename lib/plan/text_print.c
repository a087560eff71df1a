/* SPDX-License-Identifier: MIT
 *
 * Prints the text form of plans: plain transfers without loops. Lines are
 * broken at 80 columns; the lines that continue a step are indented.
 */
#include <gradwire/plan.h>

#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 80 };

static char sign(const struct gw_transfer *transfer)
{
    return transfer->action == GW_ADD     ? '+'
           : transfer->action == GW_TOKEN ? '|'
                                          : '=';
}

/* A name is one word; a character that would end it becomes `_`. */
static void print_name(const char *algo, FILE *file)
{
    fputs(" name=", file);
    for (; *algo; algo++)
        fputc(*algo > ' ' && *algo < 127 && *algo != '#' ? *algo : '_', file);
}

static void print_header(const struct gw_plan *plan, FILE *file)
{
    fprintf(file, "%s ranks=%u chunks=%u", gw_collective_name(plan->collective),
            plan->ranks, plan->chunks);
    if (gw_collective_rooted(plan->collective))
        fprintf(file, " root=%u", plan->root);
    if (plan->ports)
        fprintf(file, " ports=%u", plan->ports);
    if (*plan->algo)
        print_name(plan->algo, file);
    fputc('\n', file);
}

static void print_step(const struct gw_plan *plan, unsigned step, FILE *file)
{
    size_t column = 4;
    fputs("step", file);
    size_t end = plan->step_begin[step + 1];
    for (size_t t = plan->step_begin[step]; t < end; t++) {
        const struct gw_transfer *x = &plan->transfers[t];
        char text[64];
        int length = snprintf(text, sizeof text, "%u>%u c%u %c", x->src, x->dst,
                              x->chunk, sign(x));
        if (column + 3 + (size_t)length > LINE_COLUMNS) {
            fputs("\n    ", file);
            column = 4;
        }
        fprintf(file, "   %s", text);
        column += 3 + (size_t)length;
    }
    fputc('\n', file);
}

enum gw_err gw_plan_print(const struct gw_plan *plan, FILE *file,
                          struct gw_error *why)
{
    print_header(plan, file);
    for (unsigned step = 0; step < plan->steps; step++)
        print_step(plan, step, file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a plan");
    return GW_OK;
}
