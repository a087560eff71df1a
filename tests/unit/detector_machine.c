/* SPDX-License-Identifier: MIT
 *
 * See detector_machine.h.
 */
#include "detector_machine.h"

#include <cluster/detector/detector_parts.h>

#include <string.h>

struct machine {
    struct gw__detector detector;
    const struct gw__actions *act; /* during a step */
};

static void notify(void *owner, const struct gw__notice *notice)
{
    const struct machine *m = owner;
    m->act->notify(m->act->driver, notice, sizeof *notice);
}

static void start(struct machine *m, const struct gw__input *input)
{
    struct gw__detector_config config = gw__detector_defaults;
    if (input->bytes == sizeof config)
        memcpy(&config, input->data, sizeof config);
    config.owner = m;
    config.notify = notify;
    gw__detector_start(&m->detector, &config, input->from, input->incarnation,
                       input->now_ns);
}

static void apply_input(struct machine *m, const struct gw__input *input)
{
    struct detector_command command;
    if (input->bytes != sizeof command)
        return;
    memcpy(&command, input->data, sizeof command);
    if (command.stands)
        gw__detector_set_progress(&m->detector, &command.report, input->now_ns);
    else
        gw__detector_view(&m->detector, &command.view, input->now_ns);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *act)
{
    struct machine *m = state;
    m->act = act;
    switch (input->kind) {
    case GW__START:
        start(m, input);
        break;
    case GW__TIMER:
        gw__detector_tick(&m->detector, input->now_ns, act);
        break;
    case GW__MESSAGE:
        gw__detector_beat(&m->detector, input);
        return;
    case GW__DIED:
        gw__detector_died(&m->detector, input->from, input->incarnation);
        return;
    case GW__REQUESTED:
        apply_input(m, input);
        return;
    case GW__OBSERVED:
        gw__detector_sight(&m->detector, input);
        return;
    }
    act->set_timer(act->driver, 0, gw__detector_due(&m->detector));
}

const struct gw__machine_kind detector_machine = {
    .name = "detector", .state_bytes = sizeof(struct machine), .step = step};
