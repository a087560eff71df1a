/* SPDX-License-Identifier: MIT
 *
 * Schedules as objects: the list of passes for each stage. This file also has
 * properties that depend only on the order: the number of activations in a
 * stage, and the messages that a pass needs and sends.
 */
#include "schedule.h"

#include <stdlib.h>

char gw_pass_symbol(enum gw_pass_kind kind)
{
    static const char letters[GW_PASS_KINDS] = {
#define X(name, letter) [name] = letter,
        GW_PASSES(X)
#undef X
    };
    return (unsigned)kind < GW_PASS_KINDS ? letters[kind] : '?';
}

const char *gw__pass_text(const struct gw_schedule *schedule,
                          struct gw_pass pass, char text[GW__PASS_TEXT])
{
    char symbol = gw_pass_symbol((enum gw_pass_kind)pass.kind);
    if (schedule->chunks > 1)
        snprintf(text, GW__PASS_TEXT, "%c%u.%u", symbol, pass.micro,
                 pass.chunk);
    else
        snprintf(text, GW__PASS_TEXT, "%c%u", symbol, pass.micro);
    return text;
}

enum gw_err gw__schedule_new(const struct gw__pipe_shape *shape,
                             size_t pass_count, struct gw_schedule **schedule,
                             struct gw_error *why)
{
    struct gw_schedule *made = calloc(1, sizeof *made);
    *schedule = NULL;
    if (made) {
        *made = (struct gw_schedule){
            .stages = shape->stages,
            .micros = shape->micros,
            .chunks = shape->chunks,
            .pass_count = pass_count,
            .begin = calloc((size_t)shape->stages + 1, sizeof *made->begin),
            .passes = calloc(pass_count + 1, sizeof *made->passes),
        };
        if (made->begin && made->passes) {
            *schedule = made;
            return GW_OK;
        }
        gw_schedule_destroy(&made);
    }
    return gw_fail(why, GW_ENOMEM, "schedule of %zu passes", pass_count);
}

void gw_schedule_destroy(struct gw_schedule **schedule)
{
    if (!*schedule)
        return;
    free((*schedule)->begin);
    free((*schedule)->passes);
    free(*schedule);
    *schedule = NULL;
}

unsigned gw_schedule_peak(const struct gw_schedule *schedule, unsigned stage)
{
    unsigned held = 0, peak = 0;
    for (size_t i = schedule->begin[stage]; i < schedule->begin[stage + 1];
         i++) {
        struct gw_pass pass = schedule->passes[i];
        if (gw__pass_is_forward(pass))
            held++;
        else if (gw__pass_drops(pass) && held > 0)
            held--;
        peak = held > peak ? held : peak;
    }
    return peak;
}

/* The message of a pass; none beyond the first and the last virtual stage. */
static struct gw__message message(const struct gw_schedule *schedule,
                                  struct gw_pass pass, unsigned from,
                                  unsigned to)
{
    unsigned last = schedule->stages * schedule->chunks - 1;
    bool forward = gw__pass_is_forward(pass);
    bool backward = pass.kind == GW_BACKWARD || pass.kind == GW_BACKWARD_INPUT;
    return (struct gw__message){
        .there = (forward || backward) && from <= last && to <= last,
        .forward = forward,
        .from = from,
        .to = to,
        .micro = pass.micro,
    };
}

struct gw__message gw__pass_needs(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass)
{
    unsigned to = gw_schedule_virtual(schedule, stage, pass.chunk);
    unsigned from = gw__pass_is_forward(pass) ? to - 1 : to + 1;
    return message(schedule, pass, from, to);
}

struct gw__message gw__pass_sends(const struct gw_schedule *schedule,
                                  unsigned stage, struct gw_pass pass)
{
    unsigned from = gw_schedule_virtual(schedule, stage, pass.chunk);
    unsigned to = gw__pass_is_forward(pass) ? from + 1 : from - 1;
    return message(schedule, pass, from, to);
}
