/* SPDX-License-Identifier: MIT
 *
 * Schedule files: reading, and printing with one line per stage, which is
 * continued in several lines of that stage at 80 columns.
 */
#include "schedule.h"
#include "schedule_words.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 80 };

enum gw_err gw_schedule_load(const char *path, struct gw_schedule **schedule,
                             struct gw_error *why)
{
    size_t bytes;
    char *text;
    *schedule = NULL;
    enum gw_err err =
        gw__text_load(path, GW__SCHEDULE_BYTES_MAX, &text, &bytes, why);
    if (!err)
        err = gw_schedule_parse(text, bytes, path, schedule, why);
    free(text);
    return err;
}

/* A name is one word; a character that would end it becomes `_`. */
static void print_name(const char *name, FILE *file)
{
    fputs(" name=", file);
    for (; *name; name++)
        fputc(*name > ' ' && *name < 127 && *name != '#' ? *name : '_', file);
}

static void print_header(const struct gw_schedule *schedule, FILE *file)
{
    fprintf(file, "schedule stages=%u micros=%u", schedule->stages,
            schedule->micros);
    if (schedule->chunks > 1)
        fprintf(file, " chunks=%u", schedule->chunks);
    if (schedule->activations_max)
        fprintf(file, " memory=%u", schedule->activations_max);
    if (*schedule->name)
        print_name(schedule->name, file);
    fputc('\n', file);
}

static void print_stage(const struct gw_schedule *schedule, unsigned stage,
                        FILE *file)
{
    size_t column = LINE_COLUMNS;
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1];
         i++) {
        char text[GW__PASS_TEXT];
        size_t length =
            strlen(gw__pass_text(schedule, schedule->passes[i], text));
        if (column + 1 + length > LINE_COLUMNS) {
            bool first = i == schedule->begin[stage];
            column =
                (size_t)fprintf(file, "%sstage %u:", first ? "" : "\n", stage);
        }
        fprintf(file, " %s", text);
        column += 1 + length;
    }
    if (schedule->begin[stage] < schedule->begin[stage + 1])
        fputc('\n', file);
}

enum gw_err gw_schedule_print(const struct gw_schedule *schedule, FILE *file,
                              struct gw_error *why)
{
    print_header(schedule, file);
    for (unsigned stage = 0; stage < schedule->stages; stage++)
        print_stage(schedule, stage, file);
    if (fflush(file) || ferror(file))
        return gw_fail_errno(why, "printing a schedule");
    return GW_OK;
}
