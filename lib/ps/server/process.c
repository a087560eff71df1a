/* SPDX-License-Identifier: MIT
 *
 * The process of a server: the data thread, which runs the state machine of
 * server.h on the messenger, and the start and end of the process. node.h has
 * the control plane.
 *
 *     each turn:  update, lease, answers       -> state machine
 *                 up to TURN_MESSAGES messages  -> state machine
 *                 flush, tick when due, wait
 *
 * Small messages of one turn to the same node are bundled (process_messages.c).
 *
 * Only this thread uses the state machine. Other threads read a copy of its
 * status (process_status.c), and a separate thread writes snapshots
 * (process_save.c).
 */
#include "process_parts.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { TURN_MESSAGES = 64 };
#define IDLE_NS UINT64_C(20000000)
/* Less than gw_ps_server_leave waits. On a busy machine, while the controllers
 * elect a leader, 5 s were not enough. */
#define LEAVE_NS UINT64_C(20000000000)

/* ---- callbacks of the state machine ---- */

/* Lost if too many commands wait; the state machine repeats it. */
static void propose(void *context, const struct gw__command *command)
{
    struct gw_ps_server *server = context;
    enum gw_err err = gw__node_command(server->node, command, GW__NODE_FORGET);
    (void)err;
}

static void saved(void *context, uint64_t mark, unsigned slot, const void *data,
                  size_t bytes)
{
    struct gw_ps_server *server = context;
    gw__saver_slot(server->saver, mark, slot, data, bytes);
}

static void event(void *context, const struct gw_event *event)
{
    struct gw_ps_server *server = context;
    pthread_mutex_lock(&server->lock);
    gw_emit(server->config.events, event);
    pthread_mutex_unlock(&server->lock);
}

/* ---- SAVE ---- */

static void answer_save(struct gw_ps_server *server,
                        const struct gw__message_in *in, enum gw_err code,
                        const char *text)
{
    const struct gw__ps_head *request = in->parts[0].data;
    const struct gw__ps_head head = {.magic = GW__PS_MAGIC,
                                     .kind = GW__PS_REPLY,
                                     .request = request->request,
                                     .clock = GW__NO_CLOCK,
                                     .code = code};
    const struct gw__message_out out = {
        .node = in->from,
        .part_count = 2,
        .parts = {{&head, sizeof head}, {text, code < 0 ? strlen(text) : 0}}};
    gw__process_send(server, &out);
}

static void save(struct gw_ps_server *server,
                 const struct gw__message_in *message)
{
    const struct gw__ps_head *head = message->parts[0].data;
    char directory[512];
    struct gw_error why = {.code = GW_OK};
    size_t bytes = message->part_count > 1 ? message->parts[1].bytes : 0;
    enum gw_err err;
    if (bytes == 0 || bytes >= sizeof directory) {
        err = gw_fail(&why, GW_EINVAL,
                      "the name of a directory must have 1 to %zu bytes",
                      sizeof directory - 1);
    } else {
        memcpy(directory, message->parts[1].data, bytes);
        directory[bytes] = 0;
        unsigned slots = gw__node_update(server->node)->routes.slot_count;
        err = gw__saver_expect(server->saver, head->sequence, directory, slots,
                               &why);
    }
    if (!err)
        err = gw__saver_state(server->saver, head->sequence, &why);
    answer_save(server, message, err, why.text);
}

static bool is_save(const struct gw__message_in *message)
{
    const struct gw__ps_head *head = message->parts[0].data;
    return message->part_count > 0 && message->parts[0].bytes == sizeof *head &&
           head->magic == GW__PS_MAGIC && head->kind == GW__PS_SAVE;
}

/* ---- turns ---- */

void gw__process_message_in(struct gw_ps_server *server,
                            struct gw__message_in *message)
{
    if (!is_save(message)) {
        gw__server_message_in(server->core, gw_now_ns(), message);
        return;
    }
    save(server, message);
    gw__message_in_release(message);
}

/* True if no other server could take over its slots. */
static bool is_alone(const struct gw_ps_server *server)
{
    const struct gw__membership_update *update = gw__node_update(server->node);
    unsigned servers = 0;
    for (unsigned i = 0; i < update->ps_member_count; i++)
        servers += update->ps_members[i].role == GW__SERVER;
    return servers < 2;
}

/* Continues to serve, and reports this to the caller of gw_ps_server_leave. */
static void stay(struct gw_ps_server *server)
{
    atomic_store(&server->leaves, false);
    pthread_mutex_lock(&server->lock);
    server->stays = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* Requests that its slots move. True: it has no slots and is not a member any
 * more. */
static bool leave(struct gw_ps_server *server, uint64_t now_ns)
{
    const struct gw__command drain = {.kind = GW__CMD_DRAIN,
                                      .who = {GW__NODE_ANY, {0, 0}}};
    const struct gw__routes *routes = &gw__node_update(server->node)->routes;
    struct gw_error why;
    if (!atomic_load_explicit(&server->leaves, memory_order_relaxed))
        return false;
    bool empty = gw__routes_is_empty(routes, gw__node_number(server->node));
    if (!empty && is_alone(server)) {
        stay(server);
        return false;
    }
    if (!server->drained)
        propose(server, &drain);
    server->drained = true;
    if (!empty)
        return false;
    enum gw_err err = gw__node_leave(server->node, now_ns + LEAVE_NS, &why);
    pthread_mutex_lock(&server->lock);
    server->left = err == GW_OK;
    pthread_mutex_unlock(&server->lock);
    if (!err)
        gw_fail(&why, GW_ECLOSED, "left");
    gw__process_gone(server, &why);
    return true;
}

/* Applies changes from the control thread. False: this process has ended as a
 * server. */
static bool apply_node_changes(struct gw_ps_server *server, uint64_t now_ns)
{
    struct gw_error why;
    unsigned changes = gw__node_turn(server->node);
    if (changes & GW__NODE_GONE && gw__node_gone(server->node, &why)) {
        gw__process_gone(server, &why);
        return false;
    }
    if (changes & GW__NODE_LEASE) {
        gw__failpoint(GW__AT_PS_LEASE);
        gw__server_lease(server->core, now_ns, gw__node_lease(server->node));
    }
    if (changes & GW__NODE_UPDATE) {
        server->behind = (struct gw_nodes){{0}};
        gw__server_update(server->core, now_ns, gw__node_update(server->node));
    }
    if (changes)
        gw__process_update_status(server, now_ns, true);
    return true;
}

static bool run_turn(struct gw_ps_server *server)
{
    struct gw__messenger *messenger = gw__node_messenger(server->node);
    struct gw__message_in *message;
    uint64_t now_ns = gw_now_ns();
    unsigned received = 0;
    if (!apply_node_changes(server, now_ns))
        return false;
    if (leave(server, now_ns))
        return false;
    while (received < TURN_MESSAGES &&
           gw__messenger_receive(messenger, &message) == GW_OK) {
        gw__process_open(server, message);
        received++;
    }
    now_ns = gw_now_ns();
    gw__server_flush(server->core, now_ns);
    gw__bundles_flush(&server->bundles);
    if (now_ns >= gw__server_due(server->core)) {
        gw__server_tick(server->core, now_ns);
        gw__bundles_flush(&server->bundles);
    }
    if (received > 0)
        gw__failpoint(GW__AT_PS_SENT);
    gw__process_update_status(server, now_ns, false);
    if (received == 0) {
        uint64_t due = gw__server_due(server->core);
        uint64_t idle = now_ns + IDLE_NS;
        gw__messenger_wait(messenger, due < idle ? due : idle);
    }
    return true;
}

static void *run_server(void *context)
{
    struct gw_ps_server *server = context;
    while (!atomic_load_explicit(&server->stop, memory_order_relaxed))
        if (!run_turn(server))
            break;
    return NULL;
}

/* ---- starting ---- */

static enum gw_err restore(struct gw_ps_server *server, struct gw_error *why)
{
    struct gw__snapshot snapshot;
    if (!server->config.restore)
        return GW_OK;
    enum gw_err err = gw__snapshot_open(server->config.restore, &snapshot, why);
    for (unsigned slot = 0; !err && slot < snapshot.slot_count; slot++)
        err = gw__server_restore(server->core, slot, snapshot.slots[slot].data,
                                 snapshot.slots[slot].bytes, why);
    gw__snapshot_close(&snapshot);
    return err;
}

static enum gw_err open_node(struct gw_ps_server *server, struct gw_error *why)
{
    const struct gw_ps_server_config *config = &server->config;
    const struct gw__node_config node = {
        .node = config->node,
        .role = GW__SERVER,
        .endpoint = config->endpoint,
        .security = {config->token, config->key_file, config->insecure},
        .controller_count = config->controller_count,
        .controllers = config->controllers,
        .controller_endpoints = config->controller_endpoints,
        .wire = config->wire,
        .interface = config->interface,
        .interrupt = &server->stop,
        .links = config->links,
        .pace_ns = config->pace_ns};
    return gw__node_open(&node, &server->node, why);
}

static enum gw_err open_core(struct gw_ps_server *server, struct gw_error *why)
{
    const struct gw_ps_server_config *config = &server->config;
    const struct gw__server_config core = {
        .node = gw__node_number(server->node),
        .incarnation = gw__node_incarnation(server->node),
        .ack_primary = config->ack_primary,
        .no_dedupe = config->no_dedupe,
        .no_fencing = config->no_fencing,
        .thread_pool = server->thread_pool,
        .hogwild = config->hogwild,
        .callback_context = config->context,
        .callback = config->update,
        .callback_state = config->state_floats,
        .straggler = config->straggler,
        .out = {.context = server,
                .send = gw__process_send,
                .propose = propose,
                .saved = saved,
                .event = config->events ? event : NULL}};
    enum gw_err err = gw__server_new(&core, &server->core, why);
    return err ? err : restore(server, why);
}

/* Wakes the data thread after a finished job. */
static void job_done(void *context)
{
    struct gw_ps_server *server = context;
    gw__node_wake(server->node);
}

/* These threads are in addition to the data thread. With hogwild the data
 * thread only posts jobs and replies. */
static enum gw_err open_thread_pool(struct gw_ps_server *server,
                                    struct gw_error *why)
{
    const struct gw_ps_server_config *config = &server->config;
    if (config->hogwild && config->threads < 2)
        return gw_fail(why, GW_EINVAL,
                       "hogwild needs at least 2 threads, not %u",
                       config->threads ? config->threads : 1);
    if (config->threads < 2)
        return GW_OK;
    return gw__thread_pool_new(config->threads - !config->hogwild, job_done,
                               server, &server->thread_pool, why);
}

/* Checks the snapshot before the server registers and gets slots. */
static enum gw_err check_restore(const struct gw_ps_server_config *config,
                                 struct gw_error *why)
{
    struct gw__snapshot snapshot;
    if (!config->restore)
        return GW_OK;
    enum gw_err err = gw__snapshot_open(config->restore, &snapshot, why);
    gw__snapshot_close(&snapshot);
    return err;
}

static enum gw_err start_server(struct gw_ps_server *server,
                                struct gw_error *why)
{
    enum gw_err err = gw__failpoints_begin(why);
    if (!err)
        err = check_restore(&server->config, why);
    if (!err)
        err = gw__saver_new(&server->saver, why);
    if (!err)
        err = open_node(server, why);
    if (!err)
        err = open_thread_pool(server, why);
    if (!err)
        err = open_core(server, why);
    if (!err)
        err = gw__thread_start(&server->thread, run_server, server,
                               "the server", why);
    return err;
}

static void end_server(struct gw_ps_server *server)
{
    if (server->thread_pool)
        gw__thread_pool_drain(server->thread_pool); /* its jobs wake the node */
    if (server->node) {
        gw__bundles_flush(&server->bundles);
        /* returns lent buffers to the state machine */
        gw__node_close(&server->node);
    }
    gw__bundles_fini(&server->bundles);
    if (server->core)
        gw__server_destroy(&server->core);
    gw__thread_pool_destroy(&server->thread_pool);
    gw__saver_destroy(&server->saver);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

enum gw_err gw_ps_server_start(const struct gw_ps_server_config *config,
                               struct gw_ps_server **server,
                               struct gw_error *why)
{
    struct gw_ps_server *new = calloc(1, sizeof *new);
    *server = NULL;
    if (!new)
        return gw_fail(why, GW_ENOMEM, "no memory for a server");
    new->config = *config;
    new->bundles = (struct gw__bundles){
        .send = gw__process_send_now, .context = new, .off = config->no_bundle};
    pthread_mutex_init(&new->lock, NULL);
    gw__clock_cond_init(&new->changed);
    enum gw_err err = start_server(new, why);
    if (err)
        end_server(new);
    else
        *server = new;
    return err;
}

void gw_ps_server_destroy(struct gw_ps_server **server)
{
    if (!*server)
        return;
    atomic_store(&(*server)->stop, true);
    gw__node_wake((*server)->node);
    pthread_join((*server)->thread, NULL);
    end_server(*server);
    *server = NULL;
}
