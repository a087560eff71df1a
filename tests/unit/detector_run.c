/* SPDX-License-Identifier: MIT
 *
 * See detector_run.h.
 */
#include "detector_run.h"

struct detector_run *detector_scene;

void detector_send_view(unsigned node, uint64_t at_ns)
{
    const struct detector_command command = {.view =
                                                 detector_scene->registry.view};
    gw__sim_request(detector_scene->sim, at_ns, node, &command, sizeof command);
}

void detector_publish(void)
{
    uint64_t now = gw__sim_now(detector_scene->sim),
             epoch = detector_scene->registry.view.epoch;
    if (epoch < NODES_MOST + 2)
        detector_scene->view_ns[epoch] = now + REGISTRY_AFTER_MS * MS;
    for (unsigned i = 0; i < detector_scene->nodes; i++)
        detector_send_view(i, now + REGISTRY_AFTER_MS * MS);
}

void detector_propose(struct gw__command command)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX], answer[GW__ANSWER_BYTES_MAX];
    uint64_t epoch = detector_scene->registry.view.epoch;
    command.time_ms = gw__sim_now(detector_scene->sim) / MS;
    size_t used = gw__command_encode(&command, bytes, sizeof bytes);
    gw__registry_apply(&detector_scene->registry, bytes, used,
                       detector_scene->registry.index + 1, answer);
    if (detector_scene->registry.view.epoch != epoch &&
        command.kind == GW__CMD_SUSPECT)
        detector_publish();
}

struct gw__process detector_process(unsigned node)
{
    return (struct gw__process){
        node, {.low = gw__sim_incarnation(detector_scene->sim, node)}};
}

static void on_notice(void *context, struct gw__sim *sim, uint32_t node,
                      const void *data, size_t bytes)
{
    struct gw__notice n;
    (void)context;
    ck_assert_uint_eq(bytes, sizeof n);
    memcpy(&n, data, sizeof n);
    if (n.kind == GW__NOTICE_TRUST)
        detector_scene->trusts++;
    if (n.kind == GW__NOTICE_STUCK) {
        detector_scene->stucks++;
        detector_scene->stuck[node] = n;
    }
    if (n.kind != GW__NOTICE_SUSPECT)
        return;
    ck_assert_uint_ne(n.node, node); /* never itself */
    if (!detector_scene->first_ns)
        detector_scene->first_ns = gw__sim_now(sim);
    detector_scene->suspected[node][n.node]++;
    detector_scene->certain += n.certain;
    if (!detector_scene->deaf)
        detector_propose((struct gw__command){
            .kind = GW__CMD_SUSPECT,
            .who = {node, {.low = gw__sim_incarnation(sim, node)}},
            .suspect = {.suspected = {n.node, n.incarnation},
                        .certain = n.certain}});
}

void detector_begin(unsigned nodes, struct gw__sim_options options)
{
    const struct gw__machine_kind *kinds[NODES_MOST];
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    for (unsigned i = 0; i < nodes; i++)
        kinds[i] = &detector_machine;
    detector_scene = calloc(1, sizeof *detector_scene);
    ck_assert_ptr_nonnull(detector_scene);
    detector_scene->nodes = nodes;
    options.on_notify = on_notice;
    options.link.delay_ns = MS / 10;
    ck_assert_int_eq(
        gw__sim_new(kinds, nodes, &options, &detector_scene->sim, NULL), GW_OK);
    ck_assert_int_eq(gw__sim_run_until(detector_scene->sim, NULL, 1, NULL),
                     GW_OK);
    gw__registry_init(&detector_scene->registry);
    for (unsigned i = 0; i < nodes; i++) {
        detector_propose((struct gw__command){.kind = GW__CMD_REGISTER,
                                              .who = detector_process(i),
                                              .join = {GW__WORKER, true, "x"}});
        all.admit.joiners[all.admit.count++] = detector_process(i);
    }
    detector_propose(all);
    detector_publish();
}

void detector_end(void)
{
    gw__sim_destroy(&detector_scene->sim);
    free(detector_scene);
    detector_scene = NULL;
}

void detector_faults(const char *text)
{
    struct gw__faults list;
    ck_assert_int_eq(gw__faults_parse(text, strlen(text), "test",
                                      detector_scene->nodes, &list, NULL),
                     GW_OK);
    ck_assert_int_eq(
        gw__sim_add_faults(detector_scene->sim, list.items, list.count, NULL),
        GW_OK);
}

void detector_run(uint64_t until_ms)
{
    struct gw_error why = {0};
    ck_assert_msg(
        !gw__sim_run_until(detector_scene->sim, NULL, until_ms * MS, &why),
        "%s", why.text);
}

unsigned detector_accusers_of(unsigned node)
{
    unsigned count = 0;
    for (unsigned i = 0; i < detector_scene->nodes; i++)
        count += detector_scene->suspected[i][node] > 0;
    return count;
}

unsigned detector_accusations(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < detector_scene->nodes; i++)
        for (unsigned j = 0; j < detector_scene->nodes; j++)
            count += detector_scene->suspected[i][j];
    return count;
}
