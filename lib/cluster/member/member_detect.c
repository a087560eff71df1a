/* SPDX-License-Identifier: MIT
 *
 * The failure detector inside of a member: a machine in a machine. Its messages
 * are BEATs with a tag, its timers are ours one higher, what it tells are
 * doubts (member_doubt.c). It begins when the member has its number.
 */
#include "member_parts.h"

#include <string.h>

static void beat_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    const struct gw__mate *m = driver;
    uint8_t out[1024] = {GW__TALK_BEAT};
    if (bytes >= sizeof out)
        return;
    memcpy(out + 1, data, bytes);
    m->act->send(m->act->driver, to, out, bytes + 1);
}

static void detector_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    const struct gw__mate *m = driver;
    m->act->set_timer(m->act->driver, GW__DETECTOR_TIMERS + timer, at_ns);
}

static void detector_persist(void *driver, uint32_t key, const void *data,
                             size_t bytes)
{
    const struct gw__mate *m = driver;
    m->act->persist(m->act->driver, key, data, bytes);
}

static const void *detector_load(void *driver, uint32_t key, size_t *bytes)
{
    const struct gw__mate *m = driver;
    return m->act->load(m->act->driver, key, bytes);
}

static void detector_look(void *driver, uint32_t node, uint64_t incarnation)
{
    const struct gw__mate *m = driver;
    m->act->look(m->act->driver, node, incarnation);
}

static void detector_tell(void *driver, const void *data, size_t bytes)
{
    gw__doubt_notice(driver, data, bytes);
}

bool gw__mate_is_crew(const struct gw__mate *m)
{
    return !m->config.ring &&
           (m->config.role == GW__WORKER || m->config.role == GW__SERVER);
}

/* The crew in the order of nodes. Its epoch is the registry's, for every change
 * of the crew is one. */
void gw__mate_watched(const struct gw__mate *m, struct gw__view *view)
{
    const struct gw__news *news = &m->news;
    *view = news->view;
    if (!gw__mate_is_crew(m))
        return;
    *view = (struct gw__view){.epoch = news->view.epoch,
                              .ring_epoch = news->view.epoch,
                              .ring_count = news->crew_count};
    for (unsigned i = 0; i < news->crew_count; i++) {
        view->ring[i].node = news->crew[i].node;
        view->ring[i].incarnation = news->crew[i].incarnation;
    }
}

void gw__mate_detect(struct gw__mate *m, const struct gw__input *input)
{
    const struct gw__actions inside = {.driver = m,
                                       .send = beat_send,
                                       .set_timer = detector_timer,
                                       .persist = detector_persist,
                                       .load = detector_load,
                                       .tell = detector_tell,
                                       .look =
                                           m->act->look ? detector_look : NULL};
    bool beats = m->config.ring || gw__mate_is_crew(m);
    bool awake = beats && m->stage != GW__STAGE_REGISTERING;
    if (awake && m->stage != GW__STAGE_GONE)
        gw__detector_machine.step(&m->detector, input, &inside);
}

void gw__mate_watch(struct gw__mate *m)
{
    const struct gw__detector_config *given = &m->config.detector;
    struct gw__detector_config config =
        given->beat_ns ? *given : gw__detector_defaults;
    config.suspicion = given->suspicion;
    const struct gw__input start = {.kind = GW__START,
                                    .now_ns = m->now_ns,
                                    .from = m->node,
                                    .incarnation = m->incarnation,
                                    .seed = m->seed,
                                    .data = &config,
                                    .bytes = sizeof config};
    gw__mate_detect(m, &start);
}
