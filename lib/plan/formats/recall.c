/* SPDX-License-Identifier: MIT
 *
 * Notes of a plan in exported files; see recall.h. The notes become the text of
 * the plan, which the parser of plans reads and the verifier checks.
 */
#include "recall.h"

#include "plan/index.h"
#include "plan/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool take_number(const char **at, const char *end, unsigned long *number)
{
    unsigned digits = 0;
    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && digits < 9; digits++)
        *number = *number * 10 + (unsigned long)(*(*at)++ - '0');
    return digits > 0 && *at < end && *(*at)++ == ' ';
}

bool gw__note_parse(const char *text, size_t length, struct gw__note *note)
{
    const char *at = text, *end = text + length;
    if (!take_number(&at, end, &note->index) ||
        !take_number(&at, end, &note->step) || note->step == 0)
        return false;
    note->text = at;
    note->length = (size_t)(end - at);
    return note->length > 0;
}

static unsigned step_of(const struct gw_plan *plan, size_t transfer)
{
    unsigned low = 0, high = plan->steps;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        *(plan->step_begin[middle] <= transfer ? &low : &high) = middle;
    }
    return low;
}

const char *gw__note_text(const struct gw_plan *plan, size_t transfer,
                          char out[GW__NOTE_TEXT])
{
    char text[GW__TRANSFER_TEXT];
    snprintf(out, GW__NOTE_TEXT, "%zu %u %s", transfer,
             step_of(plan, transfer) + 1,
             gw__transfer_text(&plan->transfers[transfer], text));
    return out;
}

static int by_index(const void *one, const void *other)
{
    const struct gw__note *a = one, *b = other;
    return (a->index > b->index) - (a->index < b->index);
}

/* Indexes 0, 1, ...; steps that never go back. */
static bool are_whole(const struct gw__note *notes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (notes[i].index != i || (i > 0 && notes[i].step < notes[i - 1].step))
            return false;
    return true;
}

static char *write_text(const char *header, size_t length,
                        const struct gw__note *notes, size_t count,
                        size_t *bytes)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    if (!file)
        return NULL;
    fprintf(file, "%.*s\n", (int)length, header);
    for (size_t i = 0; i < count; i++) {
        bool begins = i == 0 || notes[i].step != notes[i - 1].step;
        fprintf(file, "%s %.*s\n", begins ? "step" : "   ",
                (int)notes[i].length, notes[i].text);
    }
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

static enum gw_err verify_recalled(struct gw_plan **plan, const char *name,
                                   struct gw_error *why)
{
    struct gw_verdict *verdict = malloc(sizeof *verdict);
    enum gw_err err = verdict ? gw_plan_verify(*plan, 0, verdict, why)
                              : gw_fail(why, GW_ENOMEM, "%.200s", name);
    if (err == GW_EPLAN)
        err = gw_fail(why, GW_EDATA, "%.200s: %s", name, verdict->sentence);
    free(verdict);
    if (err)
        gw_plan_destroy(plan);
    return err;
}

enum gw_err gw__recall(const char *header, size_t length,
                       struct gw__note *notes, size_t count, const char *name,
                       struct gw_plan **plan, struct gw_error *why)
{
    size_t bytes = 0;
    *plan = NULL;
    if (count > 0)
        qsort(notes, count, sizeof *notes, by_index);
    if (!are_whole(notes, count))
        return gw_fail(why, GW_EDATA,
                       "%.200s: the notes of gradwire are not those of a whole "
                       "plan",
                       name);
    char *text = write_text(header, length, notes, count, &bytes);
    if (!text)
        return gw_fail(why, GW_ENOMEM, "%.200s", name);
    enum gw_err err = gw__plan_parse_within(&gw__text_limits, text, bytes, name,
                                            0, plan, why);
    free(text);
    return err ? err : verify_recalled(plan, name, why);
}
