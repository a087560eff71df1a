/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The event stream: the members' events are passed on to the listeners, and to
 * the recording if there is one. Members send chunk events only while they are
 * wanted.
 */
#include "supervisor_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_EVERY = 256 };

struct recording {
    FILE *file;
    struct gw_sink *sink;
    uint64_t count;
    char path[PATH_MAX + 16];
};

/* ---- wanted events ---- */

enum event_level events_level(const struct run *run)
{
    if (run->recording || run->chunk_listeners > 0)
        return EVENTS_CHUNKS;
    return run->listeners > 0 ? EVENTS_OPS : EVENTS_RARE;
}

static void order_if_changed(struct run *run, enum event_level before)
{
    if (events_level(run) != before)
        children_send_desired(run);
}

void events_subscriptions(struct run *run)
{
    enum event_level before = events_level(run);
    char topic;
    bool any;
    while (rpc_server_subscription(&run->rpc, &topic, &any)) {
        if (topic == 'e')
            run->listeners = any;
        if (topic == 'c')
            run->chunk_listeners = any;
    }
    order_if_changed(run, before);
}

/* ---- the recording ---- */

static enum gw_err record_end(struct run *run, uint64_t *count,
                              struct gw_error *why)
{
    struct recording *recording = run->recording;
    enum gw_err code = GW_OK;
    run->recording = NULL;
    *count = recording->count;
    gw_sink_close(&recording->sink);
    bool failed = ferror(recording->file) != 0;
    if (fclose(recording->file) != 0 || failed)
        code = gw_fail_errno(why, "%.300s", recording->path);
    free(recording);
    return code;
}

/* A full disk ends the recording, not the run. */
static void record(struct run *run, const struct gw_event *events, size_t count)
{
    struct recording *recording = run->recording;
    struct gw_error why;
    uint64_t written;
    if (!recording)
        return;
    for (size_t i = 0; i < count; i++)
        gw_emit(recording->sink, &events[i]);
    recording->count += count;
    if (!ferror(recording->file))
        return;
    if (record_end(run, &written, &why))
        fprintf(stderr, "recording: %s\n", why.text);
    children_send_desired(run);
}

static enum gw_err record_begin(struct run *run, const char *path,
                                struct gw_error *why)
{
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return gw_fail(why, GW_ENOMEM, "no memory for a recording");
    if (path)
        snprintf(recording->path, sizeof recording->path, "%s", path);
    else
        snprintf(recording->path, sizeof recording->path, "%s/events.jsonl",
                 run->folder.path);
    recording->file = fopen(recording->path, "we");
    if (!recording->file) {
        enum gw_err code = gw_fail_errno(why, "%.300s", recording->path);
        free(recording);
        return code;
    }
    enum gw_err code =
        gw_sink_jsonl(recording->file, FLUSH_EVERY, &recording->sink, why);
    if (code) {
        fclose(recording->file);
        free(recording);
        return code;
    }
    run->recording = recording;
    report_all(run);
    return GW_OK;
}

static void answer_begin(const struct request *request)
{
    struct run *run = request->run;
    const char *path =
        json_string_value(json_object_get(request->json, "file"));
    struct gw_error why;
    if (run->recording)
        refuse(request, GW_EINVAL, "a recording to %.300s is already running",
               run->recording->path);
    else if (record_begin(run, path, &why))
        refuse(request, why.code, "%s", why.text);
    else
        serve_answer(run, &request->requester, GW_OK,
                     json_pack("{s:s}", "file", run->recording->path),
                     "recording to %.300s started, epoch %llu",
                     run->recording->path,
                     (unsigned long long)run->update.view.epoch);
}

static void answer_end(const struct request *request)
{
    struct run *run = request->run;
    struct gw_error why;
    uint64_t count;
    char path[PATH_MAX + 16];
    if (!run->recording) {
        refuse(request, GW_EINVAL, "no recording is running");
        return;
    }
    snprintf(path, sizeof path, "%s", run->recording->path);
    if (record_end(run, &count, &why))
        refuse(request, why.code, "%s", why.text);
    else
        serve_answer(
            run, &request->requester, GW_OK,
            json_pack("{s:s, s:I}", "file", path, "events", (json_int_t)count),
            "%llu events recorded in %.300s, epoch %llu",
            (unsigned long long)count, path,
            (unsigned long long)run->update.view.epoch);
}

void verb_record(const struct request *request)
{
    enum event_level before = events_level(request->run);
    const json_t *on = json_object_get(request->json, "on");
    if (on && !json_is_boolean(on))
        refuse(request, GW_EINVAL, "\"on\" must be true or false");
    else if (on && json_is_false(on))
        answer_end(request);
    else
        answer_begin(request);
    order_if_changed(request->run, before);
}

/* ---- passing on ---- */

void events_publish(struct run *run, const struct gw_event *events,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        recovery_event(run, &events[i]);
    record(run, events, count);
    rpc_server_publish(&run->rpc, events, count);
}

void events_ended(struct run *run, const struct child *child)
{
    const struct gw_event event = {
        .time_ns = child->ended_ns,
        .value = GW_BY_EXIT,
        .kind = GW_EV_FAILURE,
        .rank = GW_NONE,
        .peer = child->node,
        .epoch = (uint32_t)run->update.view.epoch,
        .op = GW_NONE,
        .step = GW_NONE,
        .chunk = GW_NONE,
    };
    if (!child->left && !run->ending)
        events_publish(run, &event, 1);
}

void events_close(struct run *run)
{
    struct gw_error why;
    uint64_t count;
    if (run->recording && record_end(run, &count, &why))
        fprintf(stderr, "recording: %s\n", why.text);
}

void events_status(const struct run *run, json_t *status)
{
    const struct recording *recording = run->recording;
    json_object_set_new(status, "recording",
                        recording ? json_string_nocheck(recording->path)
                                  : json_null());
}
