/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * -o json, jsonl or csv: no pictures, but the final state when the source has
 * ended: one row per rank, in the usual formats.
 */
#include "common/command.h"
#include "common/output.h"
#include "show.h"

static const struct field fields[] = {
    {.name = "rank", .kind = FIELD_INTEGER},
    {.name = "state", .kind = FIELD_TEXT},
    {.name = "op", .kind = FIELD_INTEGER},
    {.name = "step", .kind = FIELD_INTEGER},
    {.name = "waits_on", .kind = FIELD_INTEGER},
    {.name = "bytes_sent", .kind = FIELD_INTEGER},
    {.name = "bytes_received", .kind = FIELD_INTEGER},
    {.name = "chunks_complete", .kind = FIELD_INTEGER},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* -1: unknown. */
static int64_t number(uint32_t value)
{
    return value == GW_NONE ? -1 : (int64_t)value;
}

static void put_rank(struct output *output, const struct state *s, unsigned r)
{
    const struct rank *rank = &s->ranks[r];
    const struct op *op = state_op(s);
    int64_t complete = 0;
    for (unsigned c = 0; op && c < state_chunks(s); c++)
        complete += op_complete(op, r, op_copy(op, r, c));
    const union value row[FIELDS] = {
        {.integer = r},
        {.text = rank_condition_name(state_condition(s, r))},
        {.integer = number(rank->op)},
        {.integer = number(rank->step)},
        {.integer = number(rank->waits_on)},
        {.integer = (int64_t)rank->sent_bytes},
        {.integer = (int64_t)rank->received_bytes},
        {.integer = complete},
    };
    output_row(output, row);
}

static void put_pipeline(struct output *output, const struct pipe *pipe)
{
    const struct pipe_step *step = pipe_complete(pipe);
    double predicted;
    output_note_integer(output, "stages", pipe->stages);
    output_note_integer(output, "micros", pipe->micros);
    output_note_integer(output, "steps", (int64_t)pipe->finished);
    if (!step)
        return;
    output_note_integer(output, "step", step->step);
    output_note_real(output, "step_us",
                     (double)pipe_took_ns(pipe, step, step->end_ns) * 1e-3);
    output_note_real(output, "bubble_measured",
                     pipe_bubble(pipe, step, &predicted));
    if (predicted >= 0)
        output_note_real(output, "bubble_predicted", predicted);
}

static void put_all(struct output *output, const struct state *s)
{
    for (unsigned r = 0; r < s->rank_count; r++)
        if (s->ranks[r].known)
            put_rank(output, s, r);
    output_note_integer(output, "events", (int64_t)s->events);
    output_note_integer(output, "events_beyond", (int64_t)s->beyond);
    output_note_integer(output, "ops", (int64_t)s->ops_done);
    output_note_integer(output, "ops_failed", (int64_t)s->ops_failed);
    output_note_integer(output, "ops_doubled", (int64_t)s->ops_doubled);
    output_note_integer(output, "epoch", s->epoch);
    output_note_integer(output, "failovers", s->failovers.count);
    if (s->pipe.here)
        put_pipeline(output, &s->pipe);
    if (!s->ps.here)
        return;
    output_note_integer(output, "slots", s->ps.slot_count);
    output_note_integer(output, "slots_lost", ps_lost(&s->ps));
    output_note_integer(output, "slots_unserved", ps_unserved(&s->ps));
}

int run_report(struct show *show)
{
    struct gw_error why;
    struct output *output;
    while (!show->closed && !interrupted) {
        show_pull(show, gw_now_ns() + 100000000);
        show_advance(show, gw_now_ns());
    }
    show_events(show, show->source->live ? SIZE_MAX : show->until.end);
    state_evaluate(show->state);
    if (output_begin("ringtop", common.output, fields, FIELDS, &output, &why))
        return complain(&why);
    put_all(output, show->state);
    int status = show_verdict(show);
    output_end(&output, complaint(), interrupted);
    return status;
}
