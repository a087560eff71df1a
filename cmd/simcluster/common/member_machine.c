/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See member_machine.h.
 */
#include "member_machine.h"

#include <string.h>

static void on_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    const struct member_machine *machine = driver;
    machine->act->send(machine->act->driver, to, data, bytes);
}

static void on_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    const struct member_machine *machine = driver;
    machine->act->set_timer(machine->act->driver, timer, at_ns);
}

static void on_persist(void *driver, uint32_t key, const void *data,
                       size_t bytes)
{
    const struct member_machine *machine = driver;
    machine->act->persist(machine->act->driver, key, data, bytes);
}

static const void *on_load(void *driver, uint32_t key, size_t *bytes)
{
    const struct member_machine *machine = driver;
    return machine->act->load(machine->act->driver, key, bytes);
}

static void on_report(void *driver, const void *data, size_t bytes)
{
    const struct member_machine *machine = driver;
    if (bytes == sizeof(struct gw__notification))
        machine->notification(machine->node, data);
}

void member_machine_step(struct member_machine machine,
                         const struct gw__input *input)
{
    const struct gw__actions inside = {.driver = &machine,
                                       .send = on_send,
                                       .set_timer = on_timer,
                                       .persist = on_persist,
                                       .load = on_load,
                                       .notify = on_report};
    gw__member_machine.step(machine.state, input, &inside);
}

void member_machine_start(struct member_machine machine,
                          const struct gw__input *start,
                          struct gw__member_config *config,
                          const struct sim_consensus *consensus)
{
    struct gw__input input = *start;
    config->node = start->from;
    memcpy(config->endpoint, "sim", sizeof "sim");
    config->controller_count = consensus->controllers;
    for (unsigned i = 0; i < consensus->controllers; i++)
        config->controllers[i] = (uint16_t)(consensus->first + i);
    input.data = config;
    input.bytes = sizeof *config;
    member_machine_step(machine, &input);
}
