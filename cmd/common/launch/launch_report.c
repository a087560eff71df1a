/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The frames that a rank writes into its pipe: reports, events, signs of life,
 * and its result.
 *
 * Events travel in batches: a record costs a copy of 64 bytes. A write happens
 * every 256 records, at the end of an op, and before any other frame of the
 * same pipe, which keeps the order. The passes of a pipeline are observed one
 * by one, so each is written as it begins and ends, unless passes are so short
 * that the writes would dominate.
 *
 * A thread gives the signs of life. It takes no signal, and the lock protects
 * the data it shares with the rank. A sign also flushes the buffered events, so
 * no event waits for long.
 */
#include "launch_parts.h"

#include <base/clock.h>
#include <base/thread.h>

#include <assert.h>
#include <string.h>
#include <time.h>

static const uint64_t FLUSH_INTERVAL_NS = 1000000;

static int data_fd(const struct reporter *report)
{
    return report->far_fd >= 0 ? report->far_fd : report->fd;
}

static void flush(struct reporter *report)
{
    if (report->held > 0)
        frame_write(data_fd(report), FRAME_EVENTS, report->events,
                    report->held * sizeof *report->events);
    report->held = 0;
}

/* ---- events ---- */

static bool needs_flush(struct reporter *report, const struct gw_event *event)
{
    uint64_t now_ns = event->time_ns;
    if (event->kind == GW_EV_PASS_BEGIN)
        report->pass_ns = now_ns;
    else if (event->kind == GW_EV_PASS_END)
        report->slow = now_ns - report->pass_ns >= FLUSH_INTERVAL_NS;
    else
        return event->kind == GW_EV_OP_END || event->kind == GW_EV_STAGE;
    return report->slow || now_ns - report->flushed_ns >= FLUSH_INTERVAL_NS;
}

static void emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct reporter *report = (struct reporter *)sink;
    if (!report->started)
        return;
    pthread_mutex_lock(&report->lock);
    assert(report->held < EVENTS_HELD_MAX);
    report->events[report->held++] = *event;
    if (needs_flush(report, event) || report->held == EVENTS_HELD_MAX) {
        flush(report);
        report->flushed_ns = event->time_ns;
    }
    pthread_mutex_unlock(&report->lock);
}

static void close_nothing(struct gw_sink *sink)
{
    (void)sink;
}

struct gw_sink *report_events(struct reporter *report)
{
    return &report->sink;
}

/* ---- frames ---- */

void reporter_init(struct reporter *report, unsigned rank, int fd)
{
    memset(report, 0, sizeof *report);
    report->sink = (struct gw_sink){.emit = emit, .close = close_nothing};
    report->rank = rank;
    report->fd = fd;
    report->far_fd = -1;
    pthread_mutex_init(&report->lock, NULL);
    gw__clock_cond_init(&report->quieted);
}

void reporter_go_far(struct reporter *report, int fd)
{
    pthread_mutex_lock(&report->lock);
    report->far_fd = fd;
    pthread_mutex_unlock(&report->lock);
}

void reporter_start(struct reporter *report)
{
    report->started = true;
}

/* False: the reader is gone. */
static bool send_frame(struct reporter *report, enum frame_kind kind,
                       const void *data, size_t bytes)
{
    pthread_mutex_lock(&report->lock);
    flush(report);
    bool own_pipe = kind == FRAME_LIFE || kind == FRAME_RESULT;
    bool sent =
        frame_write(own_pipe ? report->fd : data_fd(report), kind, data, bytes);
    if (kind == FRAME_RESULT && report->far_fd >= 0)
        frame_write(report->far_fd, kind, data, bytes);
    pthread_mutex_unlock(&report->lock);
    return sent;
}

unsigned report_rank(const struct reporter *report)
{
    return report->rank;
}

void report_send(struct reporter *report, const void *data, size_t bytes)
{
    send_frame(report, FRAME_REPORT, data, bytes);
}

/* ---- signs of life ---- */

/* Sleeps until the next sign is due; false: no more signs. */
static bool nap(struct reporter *report)
{
    uint64_t ns = (uint64_t)report->silence_ms * 1000000 / SIGNS_OF_LIFE;
    uint64_t until_ns = gw_now_ns() + ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&report->lock);
    while (!report->quiet && gw_now_ns() < until_ns)
        pthread_cond_timedwait(&report->quieted, &report->lock, &until);
    bool quiet = report->quiet;
    pthread_mutex_unlock(&report->lock);
    return !quiet;
}

static void *send_life_signs(void *context)
{
    struct reporter *report = context;
    while (send_frame(report, FRAME_LIFE, "", 0) && nap(report))
        ;
    return NULL;
}

enum gw_err reporter_live(struct reporter *report, unsigned silence_ms,
                          struct gw_error *why)
{
    if (silence_ms == 0)
        return GW_OK;
    report->silence_ms = silence_ms;
    enum gw_err err = gw__thread_start(&report->life, send_life_signs, report,
                                       "the heartbeat thread", why);
    if (err)
        report->silence_ms = 0;
    return err;
}

void reporter_result(struct reporter *report, const struct gw_error *result)
{
    send_frame(report, FRAME_RESULT, result, sizeof *result);
    if (report->silence_ms == 0)
        return;
    pthread_mutex_lock(&report->lock);
    report->quiet = true;
    pthread_cond_signal(&report->quieted);
    pthread_mutex_unlock(&report->lock);
    pthread_join(report->life, NULL);
}
