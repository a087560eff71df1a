/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From source to picture (show.h).
 */
#include "show.h"

#include "common/command.h"

#include <langinfo.h>
#include <stdio.h>
#include <string.h>

enum { RECORDED_MAX = 1 << 22 }; /* 256 MiB */
static const uint64_t DELAY_NS = 60000000;

static void resync(struct show *show);

/* ---- receiving ---- */

static void record_error(struct show *show, const struct gw_error *why)
{
    if (show->broken++ == 0)
        show->error = *why;
}

/* One event of the source; false when there was none. */
static bool pull_one(struct show *show, uint64_t deadline_ns)
{
    struct gw_event event;
    struct gw_error why = {.code = GW_OK};
    if (show->closed)
        return false;
    enum gw_err err =
        show->source->next(show->source, deadline_ns, &event, &why);
    if (err == GW_PENDING)
        return false;
    show->received_ns = gw_now_ns();
    if (show->source->skips > show->skips)
        resync(show);
    if (!err)
        err = player_add(&show->player, &event, &why);
    if (!err)
        return true;
    show->closed = err != GW_EDATA;
    if (err != GW_ECLOSED)
        record_error(show, &why);
    show->player.complete = show->closed;
    return true;
}

void show_pull(struct show *show, uint64_t deadline_ns)
{
    const uint64_t LONGEST_NS = 20000000; /* after that, a picture is due */
    uint64_t begin_ns = gw_now_ns();
    if (show->received_ns == 0)
        show->received_ns = begin_ns;
    uint64_t silent_at_ns = show->received_ns + show->timeout_ns;
    if (show->timeout_ns > 0 && deadline_ns > silent_at_ns)
        deadline_ns = silent_at_ns;
    while (pull_one(show, deadline_ns)) {
        deadline_ns = 0;
        if (gw_now_ns() - begin_ns > LONGEST_NS)
            break;
    }
    uint64_t silent_ns = gw_now_ns() - show->received_ns;
    if (!show->closed && show->timeout_ns > 0 &&
        silent_ns >= show->timeout_ns) {
        gw_fail(&show->error, GW_ETIMEOUT, "no event from %s for %.3g s",
                show->source->run ? show->source->run : "stdin",
                (double)show->timeout_ns * 1e-9);
        show->closed = show->player.complete = true;
    }
}

static void report_invalid_lines(struct show *show)
{
    if (show->broken == 0)
        return;
    char more[64] = "";
    size_t count = show->player.live ? show->state->events : show->player.count;
    if (show->broken > 1)
        snprintf(more, sizeof more, " (and %llu more lines)",
                 (unsigned long long)show->broken - 1);
    snprintf(show->notice, sizeof show->notice, "%s%s; %zu events are shown",
             show->error.text, more, count);
}

static enum gw_err scan_recording(struct show *show, struct gw_error *why)
{
    struct state *scout;
    if (state_new(&scout, why))
        return why->code;
    for (size_t i = 0; i < show->player.count; i++)
        state_event(scout, &show->player.events[i]);
    state_learn(show->state, scout);
    state_destroy(&scout);
    return GW_OK;
}

static enum gw_err load_recording(struct show *show, double speed,
                                  struct gw_error *why)
{
    struct player *player = &show->player;
    while (!show->closed && player->count < RECORDED_MAX && !interrupted)
        (void)pull_one(show, UINT64_MAX);
    if (interrupted)
        return gw_fail(why, GW_EINTR, "interrupted while reading");
    if (!show->closed) {
        struct gw_error limit;
        gw_fail(&limit, GW_EDATA,
                "more than %d events; use a shorter recording", RECORDED_MAX);
        record_error(show, &limit);
    }
    show->closed = player->complete = true;
    player_sort(player);
    report_invalid_lines(show);
    if (show->error.code == GW_ENOMEM)
        return gw_fail(why, GW_ENOMEM, "%s", show->notice);
    if (player->count == 0 && show->broken > 0)
        return gw_fail(why, GW_EDATA, "%s", show->notice);
    if (player->count == 0)
        return gw_fail(why, GW_EDATA, "no event in the recording");
    player->speed = speed > 0 ? player->speed : player_watchable(player);
    return scan_recording(show, why);
}

static bool is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Restarts the state from a new status, because there is a gap in the events.
 */
static void resync(struct show *show)
{
    const struct source *source = show->source;
    player_forget(&show->player);
    state_resync(show->state, source->known, source->known_count,
                 source->skipped_ns);
    show->skips = source->skips;
}

enum gw_err show_init(struct show *show, const struct show_options *options,
                      struct gw_error *why)
{
    *show = (struct show){
        .glyphs = options->ascii || !is_utf8() ? &glyphs_ascii : &glyphs_utf8,
        .timeout_ns = options->timeout_ns,
        .until = {.op = GW_NONE},
    };
    if (options->path ? source_lines(options->path, &show->source, why)
                      : source_run(options->run, &show->source, why))
        return why->code;
    player_init(&show->player, show->source->live,
                options->speed > 0 ? options->speed : 1);
    enum gw_err err = state_new(&show->state, why);
    if (!err && !show->source->live)
        err = load_recording(show, options->speed, why);
    if (!err && !show->source->live)
        err = moment_find(&options->moment, &show->player, &show->until, why);
    if (show->source->run)
        show->player.delay_ns = DELAY_NS;
    if (!err && show->source->known_count > 0)
        resync(show);
    if (!err && show->source->run && !options->read_only &&
        !show->source->is_read_only)
        err = control_client_new(show->source->run, &show->control, why);
    show->view.may_control = show->control != NULL;
    if (err)
        show_fini(show);
    return err;
}

void show_fini(struct show *show)
{
    control_client_destroy(&show->control);
    source_close(&show->source);
    player_fini(&show->player);
    state_destroy(&show->state);
    grid_fini(&show->grid);
}

/* ---- orders ---- */

void show_control(struct show *show)
{
    static const uint64_t REPLY_NS = 4000000000;
    uint64_t now_ns = gw_now_ns();
    if (!show->control)
        return;
    if (show->view.request.kind != CONTROL_NONE) {
        bool accepted = control_client_send(show->control, &show->view.request);
        snprintf(show->answer, sizeof show->answer, "%s",
                 accepted ? "waiting for the supervisor"
                          : "wait: the previous command is still in progress");
        show->answer_until_ns = now_ns + REPLY_NS;
    }
    show->view.request.kind = CONTROL_NONE;
    if (control_client_answer(show->control, show->answer, sizeof show->answer))
        show->answer_until_ns = now_ns + REPLY_NS;
    else if (now_ns > show->answer_until_ns)
        *show->answer = 0;
}

/* ---- showing ---- */

/* A frozen view does not change; the newest status is taken later. */
static void apply_status(struct show *show)
{
    json_t *status = NULL;
    if (show->source->status && !show->player.frozen)
        status = show->source->status(show->source);
    if (status)
        state_status(show->state, status, gw_now_ns());
    json_decref(status);
}

/* The player's time; with a delay of events, not later than `now_ns` minus
 * it. */
static uint64_t time_reached(const struct player *player, uint64_t now_ns)
{
    uint64_t late_ns =
        now_ns > player->delay_ns ? now_ns - player->delay_ns : 0;
    bool waits = player->live && player->delay_ns > 0;
    return waits && late_ns < player->at_ns ? late_ns : player->at_ns;
}

void show_advance(struct show *show, uint64_t now_ns)
{
    const struct gw_event *event;
    apply_status(show);
    player_clock(&show->player, now_ns);
    while ((event = player_next(&show->player))) {
        state_event(show->state, event);
        show->state->pinned = GW_NONE;
    }
    if (show->state->begun && !show->player.frozen &&
        !player_at_end(&show->player))
        state_time(show->state, time_reached(&show->player, now_ns));
    if (show->player.live)
        report_invalid_lines(show);
}

void show_events(struct show *show, size_t end)
{
    struct player *player = &show->player;
    while (player->next < end && player->next < player->count)
        state_event(show->state, &player->events[player->next++]);
    show->state->pinned = show->until.op;
}

void show_moment(struct show *show)
{
    struct player *player = &show->player;
    if (show->source->live ||
        (show->until.end == player->count && show->until.op == GW_NONE))
        return;
    show_events(show, show->until.end);
    player->at_ns = show->state->now_ns;
    player->frozen = true;
}

void show_draw(struct show *show)
{
    const struct picture picture = {
        .state = show->state,
        .view = &show->view,
        .player = &show->player,
        .glyphs = show->glyphs,
        .keys = show->keys,
        .notice = *show->notice ? show->notice : NULL,
        .answer = *show->answer ? show->answer : NULL,
    };
    state_evaluate(show->state);
    show->view.ps = show->state->ps.here;
    show->view.pipe = show->state->pipe.here;
    show->view.nodes = state_has_nodes(show->state);
    draw(&picture, &show->grid);
}

int show_verdict(const struct show *show)
{
    if (*show->notice)
        return complain_with(show->error.code, "%s", show->notice);
    if (show->error.code)
        return complain(&show->error);
    if (show->state->ops_doubled > 0)
        return complain_with(GW_EWRONG, "%llu ops counted a contribution twice",
                             (unsigned long long)show->state->ops_doubled);
    if (interrupted)
        return gw_err_exit(GW_EINTR);
    return 0;
}
