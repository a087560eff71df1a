/* SPDX-License-Identifier: MIT
 *
 * The network and the servers of ps_net.h; ps_net_worker.c has the workers.
 * Messages are kept in a list and delivered when they are due. Lent memory is
 * read at that moment, as a messenger does it.
 */
#include "ps_net.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct net_mail {
    uint64_t due_ns, number;
    unsigned from, to;
    bool is_update;
    struct gw__message_out message; /* its parts are lent, or in `copy` */
    void *copy;
    struct gw__membership_update *what;
};

uint64_t net_incarnation(unsigned node)
{
    return 1000 + node;
}

static struct gw__id id_of(unsigned node)
{
    return (struct gw__id){77, net_incarnation(node)};
}

/* ---- messages ---- */

struct net_message {
    struct gw__message_in message;
    void *memory[GW__MESSENGER_PARTS];
};

static void free_message(struct gw__message_in *message)
{
    struct net_message *p = (struct net_message *)(void *)message;
    for (unsigned i = 0; i < GW__MESSENGER_PARTS; i++)
        free(p->memory[i]);
    free(p);
}

static struct gw__message_in *
make_message(unsigned from, const struct gw__message_out *message)
{
    struct net_message *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    p->message.from = from;
    p->message.incarnation_high = 77;
    p->message.incarnation_low = net_incarnation(from);
    p->message.part_count = message->part_count;
    p->message.free = free_message;
    atomic_init(&p->message.holds, 1);
    for (unsigned i = 0; i < message->part_count; i++) {
        size_t bytes = message->parts[i].bytes;
        if (from >= NET_WORKER_NODE && message->borrowed >> i & 1) {
            p->message.parts[i] = message->parts[i];
            continue;
        }
        p->memory[i] = malloc(bytes + 1);
        if (bytes > 0)
            memcpy(p->memory[i], message->parts[i].data, bytes);
        p->message.parts[i] = (struct gw__messenger_part){p->memory[i], bytes};
    }
    return &p->message;
}

/* ---- delivery ---- */

static struct net_mail *new_mail(struct net *net, unsigned from, unsigned to)
{
    if (net->mail_count == net->mail_room) {
        net->mail_room = net->mail_room ? 2 * net->mail_room : 256;
        net->mail = realloc(net->mail, net->mail_room * sizeof *net->mail);
        ck_assert_ptr_nonnull(net->mail);
    }
    struct net_mail *mail = &net->mail[net->mail_count++];
    uint64_t delay =
        net->delay_ms ? gw_rng_below(&net->rng, net->delay_ms * NET_MS) : 0;
    *mail = (struct net_mail){.due_ns = net->now_ns + delay,
                              .number = net->mail_number++,
                              .from = from,
                              .to = to};
    return mail;
}

/* Copies the parts that are not lent. */
void net_enqueue(struct net *net, unsigned from,
                 const struct gw__message_out *message)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < message->part_count; i++)
        bytes += message->borrowed >> i & 1 ? 0 : message->parts[i].bytes;
    struct net_mail *mail = new_mail(net, from, message->node);
    mail->message = *message;
    mail->copy = malloc(bytes + 1);
    char *at = mail->copy;
    for (unsigned i = 0; i < message->part_count; i++) {
        struct gw__messenger_part *part = &mail->message.parts[i];
        if (message->borrowed >> i & 1)
            continue;
        if (part->bytes > 0)
            memcpy(at, part->data, part->bytes);
        part->data = at;
        at += part->bytes;
    }
}

static bool chance(struct net *net, unsigned ppm)
{
    return ppm && gw_rng_below(&net->rng, 1000000) < ppm;
}

static void end_mail(struct net_mail *mail)
{
    if (mail->message.borrowed && mail->message.back)
        mail->message.back(mail->message.context);
    free(mail->copy);
    free(mail->what);
}

void net_send(struct net *net, unsigned worker, unsigned server,
              const struct gw__message_out *message)
{
    struct gw__message_out to = *message;
    to.node = server;
    net_enqueue(net, NET_WORKER_NODE + worker, &to);
}

/* ---- servers ---- */

static struct server_context {
    struct net *net;
    unsigned server;
} server_contexts[NET_SERVERS];

static void on_send(void *context, const struct gw__message_out *message)
{
    struct server_context *self = context;
    net_enqueue(self->net, self->server, message);
}

static struct gw_nodes server_set(const struct net *net)
{
    struct gw_nodes servers = {{0}};
    for (unsigned i = 0; i < net->server_count; i++)
        servers.words[0] |= (uint64_t)!net->gone[i] << i;
    return servers;
}

static void place_slots(struct net *net)
{
    const struct gw_nodes servers = server_set(net);
    gw__routes_servers(&net->routes, &servers);
}

static void on_propose(void *context, const struct gw__command *command)
{
    struct server_context *self = context;
    struct net *net = self->net;
    net->proposals++;
    if (net->no_proposals || chance(net, net->loss_ppm) ||
        net->gone[self->server])
        return;
    const struct gw_nodes servers = server_set(net);
    enum gw_err err = (command->kind == GW__CMD_PROMOTE ? gw__routes_promote
                                                        : gw__routes_handover)(
        &net->routes, command->slot.slot, command->slot.term,
        command->slot.node, &servers, NULL);
    if (err == GW_OK)
        net_send_update(net);
}

static void on_saved(void *context, uint64_t mark, unsigned slot,
                     const void *data, size_t bytes)
{
    struct net *net = ((struct server_context *)context)->net;
    ck_assert_uint_lt(net->saved_count, 256);
    struct net_saved *saved = &net->saved[net->saved_count++];
    *saved = (struct net_saved){mark, slot, (unsigned)bytes, malloc(bytes)};
    memcpy(saved->data, data, bytes);
}

static void start(struct net *net, unsigned i)
{
    struct gw_error why;
    server_contexts[i] = (struct server_context){net, i};
    struct gw__server_config *config = &net->configs[i];
    config->node = i;
    config->incarnation = id_of(i);
    config->out = (struct gw__server_out){.context = &server_contexts[i],
                                          .send = on_send,
                                          .propose = on_propose,
                                          .saved = on_saved};
    ck_assert_int_eq(gw__server_new(config, &net->servers[i], &why), GW_OK);
}

static struct gw__membership_update *make_update(const struct net *net)
{
    struct gw__membership_update *update = calloc(1, sizeof *update);
    ck_assert_ptr_nonnull(update);
    update->index = net->index;
    update->routes = net->routes;
    for (unsigned i = 0; i < net->server_count; i++)
        if (!net->gone[i])
            update->ps_members[update->ps_member_count++] =
                (struct gw__ps_member){
                    .node = i, .role = GW__SERVER, .incarnation = id_of(i)};
    for (unsigned i = 0; i < NET_WORKERS; i++)
        if (net->alive[i])
            update->ps_members[update->ps_member_count++] =
                (struct gw__ps_member){.node = NET_WORKER_NODE + i,
                                       .role = GW__WORKER,
                                       .incarnation =
                                           id_of(NET_WORKER_NODE + i)};
    return update;
}

void net_send_update(struct net *net)
{
    net->index++;
    for (unsigned i = 0; i < net->server_count; i++) {
        struct net_mail *mail = new_mail(net, i, i);
        mail->is_update = true;
        mail->what = make_update(net);
    }
}

void net_lose_mail(struct net *net, unsigned server)
{
    for (size_t i = 0; i < net->mail_count; i++)
        if (net->mail[i].to == server) {
            end_mail(&net->mail[i]);
            net->mail[i--] = net->mail[--net->mail_count];
        }
}

void net_add_server(struct net *net)
{
    net_add_silent(net);
    place_slots(net);
    net_send_update(net);
}

struct net *net_new(uint64_t seed, unsigned servers, unsigned slots,
                    unsigned replicas)
{
    struct net *net = calloc(1, sizeof *net);
    ck_assert_ptr_nonnull(net);
    net->seed = seed;
    net->now_ns = 1000 * NET_MS;
    gw_rng_seed(&net->rng, seed);
    gw__routes_init(&net->routes);
    struct gw_error why;
    ck_assert_msg(gw__routes_open(&net->routes, slots, replicas,
                                  servers ? servers : 1, &why) == GW_OK,
                  "%s", why.text);
    net->server_count = servers;
    for (unsigned i = 0; i < NET_WORKERS; i++)
        net->alive[i] = true;
    for (unsigned i = 0; i < servers; i++)
        start(net, i);
    if (servers > 0)
        net_assign_slots(net);
    return net;
}

void net_add_silent(struct net *net)
{
    ck_assert_uint_lt(net->server_count, NET_SERVERS);
    start(net, net->server_count++);
}

void net_assign_slots(struct net *net)
{
    place_slots(net);
    net_send_update(net);
    net_run(net, 10);
}

void net_free(struct net *net)
{
    for (unsigned i = 0; i < net->server_count; i++)
        gw__server_destroy(&net->servers[i]);
    for (size_t i = 0; i < net->mail_count; i++)
        end_mail(&net->mail[i]);
    for (unsigned i = 0; i < net->request_count; i++) {
        for (unsigned j = 0; j < net->requests[i].sent; j++)
            free(net->requests[i].memory[j]);
        free(net->requests[i].memory);
        free(net->requests[i].carried);
        free(net->requests[i].keys);
        free(net->requests[i].values);
    }
    for (unsigned i = 0; i < net->saved_count; i++)
        free(net->saved[i].data);
    free(net->mail);
    free(net);
}

unsigned net_table(struct net *net, const char *name, uint32_t width,
                   enum gw_ps_updater updater, uint32_t dense)
{
    struct gw_ps_table_config config = {.width = width,
                                        .updater = updater,
                                        .dense = dense,
                                        .rate = 0.5F,
                                        .epsilon = 1e-6F};
    strcpy(config.name, name);
    unsigned table = 0;
    struct gw_error why;
    ck_assert_msg(gw__routes_table(&net->routes, &config, &table, &why) ==
                      GW_OK,
                  "%s", why.text);
    net_send_update(net);
    net_run(net, 10);
    return table;
}

void net_kill(struct net *net, unsigned server)
{
    gw__server_destroy(&net->servers[server]);
}

void net_declare_dead(struct net *net, unsigned server)
{
    net->gone[server] = true;
    place_slots(net);
    net_send_update(net);
}

void net_end_worker(struct net *net, unsigned worker)
{
    net->alive[worker] = false;
    net_send_update(net);
}

/* ---- time ---- */

static void deliver(struct net *net, struct net_mail *mail)
{
    if (mail->to >= NET_WORKER_NODE) {
        struct gw__message_in *message =
            make_message(mail->from, &mail->message);
        if (net->alive[mail->to - NET_WORKER_NODE])
            net_on_reply(net, message);
        gw__message_in_release(message);
        return;
    }
    struct gw__server *server = net->servers[mail->to];
    if (!server)
        return;
    if (mail->is_update)
        gw__server_update(server, net->now_ns, mail->what);
    else
        gw__server_message_in(server, net->now_ns,
                              make_message(mail->from, &mail->message));
    gw__server_flush(server, net->now_ns);
}

/* Delivers the next due message, but not to a paused server. */
static bool deliver_next(struct net *net)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < net->mail_count; i++) {
        const struct net_mail *m = &net->mail[i];
        if (m->due_ns > net->now_ns ||
            (m->to < NET_SERVERS && net->paused[m->to]))
            continue;
        if (best == SIZE_MAX || m->due_ns < net->mail[best].due_ns ||
            (m->due_ns == net->mail[best].due_ns &&
             m->number < net->mail[best].number))
            best = i;
    }
    if (best == SIZE_MAX)
        return false;
    struct net_mail mail = net->mail[best];
    net->mail[best] = net->mail[--net->mail_count];
    if (!mail.is_update && chance(net, net->loss_ppm)) {
        end_mail(&mail);
        return true;
    }
    if (!mail.is_update && chance(net, net->double_ppm)) {
        struct gw__message_out again = mail.message;
        if (mail.from < NET_WORKER_NODE)
            again.borrowed = 0;
        again.node = mail.to;
        net_enqueue(net, mail.from, &again);
    }
    deliver(net, &mail);
    end_mail(&mail);
    return true;
}

static void tick_servers(struct net *net)
{
    for (unsigned i = 0; i < net->server_count; i++) {
        struct gw__server *server = net->servers[i];
        if (!server || net->paused[i])
            continue;
        if (!net->no_lease && !net->gone[i])
            gw__server_lease(server, net->now_ns, net->now_ns + 60 * NET_MS);
        if (gw__server_due(server) <= net->now_ns + 5 * NET_MS)
            gw__server_tick(server, net->now_ns);
    }
}

void net_run(struct net *net, unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        net->now_ns += NET_MS;
        while (deliver_next(net))
            continue;
        if (net->now_ns / NET_MS % 5 == 0) {
            tick_servers(net);
            net_repeat_requests(net);
        }
    }
}

static bool is_quiet(const struct net *net)
{
    for (unsigned i = 0; i < net->request_count; i++)
        if (!net->requests[i].done && !net->requests[i].failed &&
            net->alive[net->requests[i].worker])
            return false;
    for (unsigned i = 0; i < net->server_count; i++)
        if (net->servers[i] && !net->gone[i] && !net->paused[i] &&
            gw__server_due(net->servers[i]) != UINT64_MAX)
            return false;
    for (size_t i = 0; i < net->mail_count; i++)
        if (net->mail[i].to >= NET_SERVERS || !net->paused[net->mail[i].to])
            return false;
    return true;
}

void net_drain(struct net *net, unsigned ms)
{
    for (unsigned i = 0; i < ms && !is_quiet(net); i++)
        net_run(net, 1);
    if (!is_quiet(net))
        net_explain(net);
    ck_assert_msg(is_quiet(net), "seed %llu: not quiet after %u ms",
                  (unsigned long long)net->seed, ms);
}
