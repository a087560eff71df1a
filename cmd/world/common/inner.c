/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See inner.h.
 */
#include "inner.h"

#include <string.h>

static void on_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    const struct inner *inner = driver;
    inner->act->send(inner->act->driver, to, data, bytes);
}

static void on_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    const struct inner *inner = driver;
    inner->act->set_timer(inner->act->driver, timer, at_ns);
}

static void on_persist(void *driver, uint32_t key, const void *data,
                       size_t bytes)
{
    const struct inner *inner = driver;
    inner->act->persist(inner->act->driver, key, data, bytes);
}

static const void *on_load(void *driver, uint32_t key, size_t *bytes)
{
    const struct inner *inner = driver;
    return inner->act->load(inner->act->driver, key, bytes);
}

static void on_tell(void *driver, const void *data, size_t bytes)
{
    const struct inner *inner = driver;
    if (bytes == sizeof(struct gw__notification))
        inner->notification(inner->node, data);
}

void inner_step(struct inner inner, const struct gw__input *input)
{
    const struct gw__actions inside = {.driver = &inner,
                                       .send = on_send,
                                       .set_timer = on_timer,
                                       .persist = on_persist,
                                       .load = on_load,
                                       .notify = on_tell};
    gw__member_machine.step(inner.state, input, &inside);
}

void inner_start(struct inner inner, const struct gw__input *start,
                 struct gw__member_config *config, const struct agreed *agreed)
{
    struct gw__input input = *start;
    config->node = start->from;
    memcpy(config->endpoint, "sim", sizeof "sim");
    config->controller_count = agreed->controllers;
    for (unsigned i = 0; i < agreed->controllers; i++)
        config->controllers[i] = (uint8_t)(agreed->first + i);
    input.data = config;
    input.bytes = sizeof *config;
    inner_step(inner, &input);
}
