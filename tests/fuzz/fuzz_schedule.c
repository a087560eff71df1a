/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the text form of schedules and its users (libFuzzer):
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_schedule.c
 *     ./fuzz_schedule -max_len=2048 labs/plans
 *
 * A text that is a schedule must print to a text that parses to the same
 * schedule, and be correct or be refused without harm. A correct schedule can
 * be simulated; the time is at least that of its longest pass and at most that
 * of all passes one after the other.
 */
#include <gradwire/pipe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void simulate(const struct gw_schedule *schedule)
{
    static const struct gw_pipe_costs costs = {
        .forward_us = 3, .input_us = 2, .weight_us = 1};
    struct gw_timeline *timeline;
    check(gw_pipe_simulate(schedule, &costs, &timeline, NULL) == GW_OK,
          "simulate: a right schedule failed");
    double work_us = 6.0 * schedule->micros * schedule->chunks;
    check(timeline->ideal_us == work_us, "simulate: another amount of work");
    check(timeline->time_us >= work_us &&
              timeline->time_us <= work_us * schedule->stages,
          "simulate: too short or too long");
    gw_timeline_destroy(&timeline);
}

/* A wrong schedule may be simulated, too; it may hang or not. */
static void try_to_simulate(const struct gw_schedule *schedule)
{
    static const struct gw_pipe_costs costs = {.forward_us = 1};
    struct gw_timeline *timeline;
    enum gw_err err = gw_pipe_simulate(schedule, &costs, &timeline, NULL);
    check(err == GW_OK || err == GW_EPLAN, "simulate: another error");
    check((err == GW_OK) == (timeline != NULL),
          "simulate: timeline and result disagree");
    gw_timeline_destroy(&timeline);
}

static void verify(const struct gw_schedule *schedule)
{
    struct gw_error why = {0};
    enum gw_err err = gw_schedule_check(schedule, &why);
    check(err == GW_OK || err == GW_EPLAN, "check: neither right nor wrong");
    check((err == GW_OK) == (*why.text == 0),
          "check: sentence and result disagree");
    if (err == GW_OK)
        simulate(schedule);
    else
        try_to_simulate(schedule);
}

static void print_and_parse(const struct gw_schedule *schedule)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gw_schedule *again = NULL;
    struct gw_error why = {0};
    FILE *file = open_memstream(&text, &bytes);
    check(file && gw_schedule_print(schedule, file, NULL) == GW_OK,
          "print: failed");
    fclose(file);
    enum gw_err err = gw_schedule_parse(text, bytes, "again", &again, &why);
    check(err == GW_OK, why.text);
    check(schedule->stages == again->stages &&
              schedule->micros == again->micros &&
              schedule->chunks == again->chunks &&
              schedule->activations_max == again->activations_max &&
              schedule->pass_count == again->pass_count,
          "print: another shape");
    check(memcmp(schedule->begin, again->begin,
                 (schedule->stages + 1) * sizeof *again->begin) == 0 &&
              memcmp(schedule->passes, again->passes,
                     again->pass_count * sizeof *again->passes) == 0 &&
              strcmp(schedule->name, again->name) == 0,
          "print: another schedule");
    gw_schedule_destroy(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_schedule *schedule;
    struct gw_error why = {0};
    enum gw_err err =
        gw_schedule_parse((const char *)data, size, "fuzz", &schedule, &why);
    check((err == GW_OK) == (schedule != NULL),
          "parse: schedule and result disagree");
    check(err == GW_OK || err == GW_EDATA, "parse: another error");
    check(err == GW_OK || strncmp(why.text, "fuzz:", 5) == 0,
          "parse: no place in the sentence");
    if (!schedule)
        return 0;
    verify(schedule);
    print_and_parse(schedule);
    gw_schedule_destroy(&schedule);
    return 0;
}
