/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first line (the run, its progress, the time) and the last one (keys, or
 * the last event while the view is frozen).
 */
#include "draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the first line ---- */

typedef void item_text(const struct picture *p, char *out, size_t size);

static void time_text(const struct picture *p, char *out, size_t size)
{
    const struct player *player = p->player;
    if (player->frozen)
        snprintf(out, size, "[PAUSED]");
    else if (player_at_end(player))
        snprintf(out, size, "[END]");
    else if (player->live)
        snprintf(out, size, "[LIVE]");
    else if (player->untimed)
        snprintf(out, size, "[%zu/%zu]", player->next, player->count);
    else if (player->speed < 0.1)
        snprintf(out, size, "[REPLAY x1/%.0f]", 1 / player->speed);
    else
        snprintf(out, size, "[REPLAY x%.3g]", player->speed);
}

static void op_text(const struct picture *p, char *out, size_t size)
{
    const struct op *op = state_op(p->state);
    char kind[48] = "no op yet";
    if (op)
        op_kind(op, kind);
    if (op)
        snprintf(out, size, "%s  op %" PRIu32, kind, op->op);
    else
        snprintf(out, size, "%s", kind);
}

/* "4 alive", or "3/4 alive" if one of the members is not. Printed only if their
 * equality is `all_alive`. */
static void health_text(const struct picture *p, bool all_alive, char *out,
                        size_t size)
{
    unsigned members[RANKS_MAX], alive = 0;
    unsigned count = state_ring(p->state, members);
    *out = 0;
    for (unsigned i = 0; i < count; i++)
        alive += state_condition(p->state, members[i]) < RANK_PAUSED;
    if (all_alive && count > 0 && alive == count)
        snprintf(out, size, "%u alive", alive);
    else if (!all_alive && alive < count)
        snprintf(out, size, "%u/%u alive", alive, count);
}

static void degraded_text(const struct picture *p, char *out, size_t size)
{
    health_text(p, false, out, size);
}

static void alive_text(const struct picture *p, char *out, size_t size)
{
    health_text(p, true, out, size);
}

static void step_text(const struct picture *p, char *out, size_t size)
{
    const struct op *op = state_op(p->state);
    unsigned slowest = GW_NONE;
    *out = 0;
    if (!op)
        return;
    for (unsigned r = 0; r < p->state->rank_count; r++) {
        const struct rank *rank = &p->state->ranks[r];
        bool here = rank->known && rank->op == op->op;
        unsigned step = rank->step == GW_NONE ? 0 : rank->step + 1;
        if (here && step < slowest)
            slowest = step;
    }
    if (slowest != GW_NONE && state_steps(p->state) > 0)
        snprintf(out, size, "step %u/%u", slowest, state_steps(p->state));
}

static void rate_text(const struct picture *p, char *out, size_t size)
{
    double rate = rates_total(&p->state->rates, p->state->now_ns);
    snprintf(out, size, rate >= 1e9 ? "%.1f GB/s" : "%.0f MB/s",
             rate / (rate >= 1e9 ? 1e9 : 1e6));
}

static void epoch_text(const struct picture *p, char *out, size_t size)
{
    snprintf(out, size, "epoch %" PRIu32, p->state->epoch);
}

static void skip_text(const struct picture *p, char *out, size_t size)
{
    char gap[16];
    format_ns(p->state->skipped_ns, gap);
    *out = 0;
    if (p->state->skipped_ns > 0)
        snprintf(out, size, "skipped %s", gap);
}

static void double_text(const struct picture *p, char *out, size_t size)
{
    const struct op *op = state_op(p->state);
    *out = 0;
    if (p->state->ops_doubled > 0 || (op && op->sets.doubles > 0))
        snprintf(out, size, "DOUBLE COUNT");
}

/* ---- of parameter servers ---- */

static void lost_text(const struct picture *p, char *out, size_t size)
{
    unsigned lost = ps_lost(&p->state->ps);
    *out = 0;
    if (lost > 0)
        snprintf(out, size, "%u SLOT%s LOST", lost, lost > 1 ? "S" : "");
}

static void model_text(const struct picture *p, char *out, size_t size)
{
    const struct ps_members *ps = &p->state->ps;
    const char *model = *ps->model ? ps->model : "servers";
    snprintf(out, size, "%s%s%s", model, ps->clock.reported ? " " : "",
             ps->clock.mode);
}

static void ps_text(const struct picture *p, char *out, size_t size)
{
    const struct ps_members *ps = &p->state->ps;
    unsigned servers = 0, workers = 0;
    for (unsigned s = 0; s < ps->server_count; s++)
        servers += ps->servers[s].known && ps->servers[s].gone_ns == 0;
    for (unsigned w = 0; w < ps->worker_count; w++)
        workers += ps->workers[w].known && ps->workers[w].gone_ns == 0;
    snprintf(out, size, "%us %uw", servers, workers);
}

static void progress_text(const struct picture *p, char *out, size_t size)
{
    const struct ps_clock *c = &p->state->ps.clock;
    *out = 0;
    if (c->done)
        snprintf(out, size, "done");
    else if (c->reported && c->epochs > 0)
        snprintf(out, size,
                 "data %" PRIu64 "/%" PRIu64 " batch %" PRIu64 "/%" PRIu64,
                 c->epoch, c->epochs, c->batch, c->batches);
    else if (c->reported)
        snprintf(out, size, "data %" PRIu64 " batch %" PRIu64, c->epoch,
                 c->batch);
}

static void pushes_text(const struct picture *p, char *out, size_t size)
{
    double rate = rates_total(&p->state->ps.pushes, p->state->now_ns);
    *out = 0;
    if (p->state->ps.clock.reported)
        snprintf(out, size, "%.0f push/s", rate);
}

static void ps_epoch_text(const struct picture *p, char *out, size_t size)
{
    snprintf(out, size, "epoch %" PRIu64, p->state->ps.epoch);
}

static void loss_text(const struct picture *p, char *out, size_t size)
{
    *out = 0;
    if (isfinite(p->state->ps.loss))
        snprintf(out, size, "loss %.4g", p->state->ps.loss);
}

/* ---- of pipelines ---- */

static void pipe_text(const struct picture *p, char *out, size_t size)
{
    const struct pipe *pipe = &p->state->pipe;
    snprintf(out, size, "pipeline");
    if (pipe->stages > 0)
        snprintf(out, size, "pipeline %ux%u", pipe->stages, pipe->micros);
}

static void pipe_step_text(const struct picture *p, char *out, size_t size)
{
    const struct pipe_step *step = pipe_current(&p->state->pipe);
    *out = 0;
    if (step)
        snprintf(out, size, "step %" PRIu32, step->step);
}

static void pipe_passes_text(const struct picture *p, char *out, size_t size)
{
    const struct pipe *pipe = &p->state->pipe;
    const struct pipe_step *step = pipe_current(pipe);
    unsigned done = 0, all = 0;
    for (unsigned s = 0; step && s < pipe->stages; s++) {
        done += pipe_done(&step->lanes[s]);
        all += pipe_passes(pipe, step, s);
    }
    *out = 0;
    if (step && all >= done)
        snprintf(out, size, "passes %u/%u", done, all);
    else if (step)
        snprintf(out, size, "passes %u", done);
}

static void pipe_loss_text(const struct picture *p, char *out, size_t size)
{
    const struct losses *losses = &p->state->losses;
    *out = 0;
    if (losses_used(losses) > 0)
        snprintf(out, size, "loss %.4g", losses->last);
}

/* ---- */

void draw_header(const struct picture *p, const struct area *area)
{
    static item_text *const of_ring[] = {double_text, op_text,   degraded_text,
                                         skip_text,   step_text, alive_text,
                                         rate_text,   epoch_text};
    static item_text *const of_ps[] = {lost_text,     model_text,    ps_text,
                                       ps_epoch_text, progress_text, skip_text,
                                       pushes_text,   loss_text};
    static item_text *const of_pipe[] = {
        double_text,      pipe_text, degraded_text,  pipe_step_text,
        pipe_passes_text, skip_text, pipe_loss_text, alive_text};
    enum { ITEMS = sizeof of_ring / sizeof *of_ring };
    item_text *const *items = p->state->ps.here     ? of_ps
                              : p->state->pipe.here ? of_pipe
                                                    : of_ring;
    char text[96];
    area_fill(area, 0, STYLE_BAR);
    time_text(p, text, sizeof text);
    int room = area->width - (int)strlen(text) - 1;
    area_text(area, room, 0, STYLE_BAR, text);
    int x = area->width >= SMALLEST_WIDTH * 2
                ? 2 + area_text(area, 1, 0, STYLE_BAR, "ringtop") + 1
                : 1;
    for (size_t i = 0; i < ITEMS; i++) {
        items[i](p, text, sizeof text);
        int length = (int)strlen(text);
        if (length == 0 || x + length >= room)
            continue;
        enum style style = i == 0 ? STYLE_BAD : STYLE_BAR; /* an alarm */
        x += area_text(area, x, 0, style, text) + 2;
    }
}

/* ---- the last line ---- */

/* `importance`: 0, the lowest, is omitted last. */
static const struct {
    const char *key, *does;
    int importance;
} keys[] = {{"F1", "keys", 0}, {"?", "help", 5},   {"SPC", "freeze", 6},
            {".", "step", 10}, {"<>", "speed", 8}, {"Tab", "page", 7},
            {"F3", "find", 9}, {"F6", "sort", 11}, {"k", "kill", 2},
            {"p", "pause", 3}, {"a", "add", 4},    {"F10", "quit", 1}};
enum { KEYS = sizeof keys / sizeof *keys };

static int key_width(size_t i)
{
    return (int)(strlen(keys[i].key) + strlen(keys[i].does) + 3);
}

static bool works(const struct picture *p, size_t i)
{
    if (*keys[i].key == '<')
        return !p->player->live;
    if (strcmp(keys[i].key, "F6") == 0) /* stages have a fixed order */
        return !p->state->pipe.here;
    return p->view->may_control || !strchr("kpa", *keys[i].key);
}

/* The highest importance for which there is room. */
static int keys_that_fit(const struct picture *p, int room)
{
    for (int importance = 0; importance < KEYS; importance++)
        for (size_t i = 0; i < KEYS; i++) {
            if (keys[i].importance != importance || !works(p, i))
                continue;
            room -= key_width(i);
            if (room < 0)
                return importance - 1;
        }
    return KEYS;
}

static void list_keys(const struct picture *p, const struct area *area)
{
    int last = keys_that_fit(p, area->width), x = 1;
    for (size_t i = 0; i < KEYS; i++) {
        if (!works(p, i) || keys[i].importance > last)
            continue;
        area_text(area, x, 0, STYLE_STRONG, keys[i].key);
        area_text(area, x + (int)strlen(keys[i].key) + 1, 0, STYLE_PLAIN,
                  keys[i].does);
        x += key_width(i);
    }
}

static void report_last(const struct picture *p, const struct area *area)
{
    char text[160];
    state_last_text(p->state, text, sizeof text);
    int x =
        1 + area_print(area, 1, 0, STYLE_STRONG, "%" PRIu64, p->state->events);
    if (!p->player->live)
        x += area_print(area, x, 0, STYLE_STRONG, "/%zu", p->player->count);
    area_print(area, x, 0, STYLE_PLAIN, " %s", text);
}

static const char *question(const struct view *view)
{
    static const char *const of_ring[] = {
        [CONTROL_KILL] = "kill which node?",
        [CONTROL_PAUSE] = "pause or resume which node?",
        [CONTROL_ADD] = "add a node?",
    };
    static const char *const of_ps[] = {
        [CONTROL_KILL] = "kill which worker, or server (s0)?",
        [CONTROL_PAUSE] = "pause or resume which worker, or s0?",
        [CONTROL_ADD] = "add a worker, or a server (s)?",
    };
    return (view->ps ? of_ps : of_ring)[view->prompt];
}

/* "kill which node? [2]_": 2 is what Enter alone means. */
static void put_question(const struct view *view, const struct area *area)
{
    char usual[8] = "";
    if (view->prompt != CONTROL_ADD && !*view->typed && *view->usual)
        snprintf(usual, sizeof usual, "[%s]", view->usual);
    area_print(area, 1, 0, STYLE_WARN, "%s %s%s_  (Enter: yes, Esc: no)",
               question(view), usual, view->typed);
}

void draw_keys(const struct picture *p, const struct area *area)
{
    if (p->view->finding)
        area_print(area, 1, 0, STYLE_STRONG, "find: %s_", p->view->find);
    else if (p->view->prompt)
        put_question(p->view, area);
    else if (p->view->refused)
        area_text(area, 1, 0, STYLE_STRONG,
                  p->player->live ? "read-only: no kill, pause or add"
                                  : "no run to control");
    else if (p->view->sorted)
        area_print(area, 1, 0, STYLE_STRONG, "sorted by %s",
                   sort_name(p->view));
    else if (p->answer)
        area_text(area, 1, 0, STYLE_STRONG, p->answer);
    else if (p->notice)
        area_text(area, 1, 0, STYLE_BAD, p->notice);
    else if (p->player->frozen)
        report_last(p, area);
    else
        list_keys(p, area);
}
