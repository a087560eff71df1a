/* SPDX-License-Identifier: MIT
 *
 * See sim_puppet.h.
 */
#include "sim_puppet.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void obey(const struct puppet_command *order, uint64_t now_ns,
                 const struct gw__actions *actions)
{
    static const unsigned char zeros[GW__MESSAGE_MAX + 1];
    uint64_t value = order->value;
    size_t bytes;
    void *driver = actions->driver;
    switch (order->verb) {
    case PUPPET_SEND:
        actions->send(driver, order->which, &value, sizeof value);
        break;
    case PUPPET_TIMER:
        actions->set_timer(driver, order->which, value ? now_ns + value : 0);
        break;
    case PUPPET_TIMER_AT:
        actions->set_timer(driver, order->which, value);
        break;
    case PUPPET_PERSIST:
        actions->persist(driver, order->which, &value, sizeof value);
        break;
    case PUPPET_NOTIFY:
        actions->notify(driver, &value, sizeof value);
        break;
    case PUPPET_LOAD:
        actions->load(driver, order->which, &bytes);
        break;
    case PUPPET_SEND_BYTES:
        actions->send(driver, order->which, zeros, value);
        break;
    }
}

/* The state is a count of the steps of this life. */
static void puppet_step(void *state, const struct gw__input *input,
                        const struct gw__actions *actions)
{
    const struct puppet_command *commands = input->data;
    ++*(uint64_t *)state;
    if (input->kind == GW__REQUESTED)
        for (size_t i = 0; i < input->bytes / sizeof *commands; i++)
            obey(&commands[i], input->now_ns, actions);
}

const struct gw__machine_kind puppet_kind = {
    .name = "puppet",
    .state_bytes = sizeof(uint64_t),
    .step = puppet_step,
};

static void log_notification(void *context, struct gw__sim *sim, uint32_t node,
                             const void *data, size_t bytes)
{
    struct sim_stage *stage = context;
    (void)sim;
    (void)node;
    ck_assert(bytes == sizeof(uint64_t) && stage->notified_count < INPUTS_MOST);
    memcpy(&stage->notified[stage->notified_count++], data, bytes);
}

static uint64_t value_of(struct gw__sim *sim, uint32_t node,
                         const struct gw__input *input)
{
    uint64_t value = 0;
    size_t bytes = input->bytes;
    const void *data = input->data;
    if (input->kind == GW__START)
        data = gw__sim_persisted(sim, node, 1, &bytes);
    if (data && bytes == sizeof value)
        memcpy(&value, data, sizeof value);
    return value;
}

static void log_life(void *context, struct gw__sim *sim, uint32_t node,
                     enum gw__fault_kind what)
{
    struct sim_stage *stage = context;
    ck_assert(gw__sim_up(sim, node) == (what != GW__CRASH));
    stage->lives[what]++;
}

static void log_step(void *context, struct gw__sim *sim, uint32_t node,
                     const struct gw__input *input)
{
    struct sim_stage *stage = context;
    ck_assert(stage->count < INPUTS_MOST);
    stage->log[stage->count++] = (struct sim_input){
        .time_ns = gw__sim_now(sim),
        .clock_ns = input->now_ns,
        .incarnation = input->incarnation,
        .value = value_of(sim, node, input),
        .node = node,
        .from = input->from,
        .timer = input->timer,
        .kind = input->kind,
    };
}

struct sim_stage *stage_new(unsigned nodes,
                            const struct gw__sim_options *options)
{
    const struct gw__machine_kind *kinds[PUPPET_NODES_MOST];
    struct gw__sim_options own = {.link = {.delay_ns = MS}};
    struct gw_error why = {0};
    struct sim_stage *stage = calloc(1, sizeof *stage);
    ck_assert(stage && nodes <= PUPPET_NODES_MOST);
    for (unsigned i = 0; i < nodes; i++)
        kinds[i] = &puppet_kind;
    if (options)
        own = *options;
    own.context = stage;
    own.on_notify = log_notification;
    own.after_step = log_step;
    own.on_life = log_life;
    ck_assert_msg(gw__sim_new(kinds, nodes, &own, &stage->sim, &why) == GW_OK,
                  "%s", why.text);
    return stage;
}

void stage_destroy(struct sim_stage **stage)
{
    gw__sim_destroy(&(*stage)->sim);
    free(*stage);
    *stage = NULL;
}

void stage_faults(struct sim_stage *stage, const char *text)
{
    struct gw__faults faults;
    struct gw_error why = {0};
    ck_assert_msg(gw__faults_parse(text, strlen(text), "faults",
                                   gw__sim_nodes(stage->sim), &faults,
                                   &why) == GW_OK,
                  "%s", why.text);
    ck_assert_int_eq(
        gw__sim_add_faults(stage->sim, faults.items, faults.count, &why),
        GW_OK);
}

void stage_commands(struct sim_stage *stage, uint64_t at_ns, uint32_t node,
                    const struct puppet_command *commands, size_t count)
{
    gw__sim_request(stage->sim, at_ns, node, commands,
                    count * sizeof *commands);
}

void stage_command(struct sim_stage *stage, uint64_t at_ns, uint32_t node,
                   enum puppet_verb verb, uint32_t which, uint64_t value)
{
    struct puppet_command order = {verb, which, value};
    stage_commands(stage, at_ns, node, &order, 1);
}

void stage_run(struct sim_stage *stage, uint64_t limit_ns)
{
    struct gw_error why = {0};
    enum gw_err err = gw__sim_run_until(stage->sim, NULL, limit_ns, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
}

size_t stage_count(const struct sim_stage *stage, uint32_t node,
                   enum gw__input_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < stage->count; i++)
        count += stage->log[i].node == node && stage->log[i].kind == kind;
    return count;
}

const struct sim_input *stage_input(const struct sim_stage *stage,
                                    uint32_t node, enum gw__input_kind kind,
                                    size_t n)
{
    for (size_t i = 0; i < stage->count; i++)
        if (stage->log[i].node == node && stage->log[i].kind == kind &&
            n-- == 0)
            return &stage->log[i];
    ck_abort_msg("node %u got no such input of kind %d", node, (int)kind);
    return NULL;
}
