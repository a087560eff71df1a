/* SPDX-License-Identifier: MIT
 *
 * The network and the workers of ps_net.h. Mail is kept in a list and delivered
 * when it is due; what is lent is read at that moment, as a post does it.
 */
#include "ps_net.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct net_mail {
    uint64_t due_ns, number;
    unsigned from, to;
    bool news;
    struct gw__letter letter; /* parts lent, or in `copy` */
    void *copy;
    struct gw__news *what;
};

static uint64_t net_incarnation(unsigned node)
{
    return 1000 + node;
}

static struct gw__id id_of(unsigned node)
{
    return (struct gw__id){77, net_incarnation(node)};
}

/* ---- parcels ---- */

struct net_parcel {
    struct gw__parcel parcel;
    void *memory[GW__POST_PARTS];
};

static void free_parcel(struct gw__parcel *parcel)
{
    struct net_parcel *p = (struct net_parcel *)(void *)parcel;
    for (unsigned i = 0; i < GW__POST_PARTS; i++)
        free(p->memory[i]);
    free(p);
}

static struct gw__parcel *make_parcel(unsigned from,
                                      const struct gw__letter *letter)
{
    struct net_parcel *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    p->parcel.from = from;
    p->parcel.incarnation_high = 77;
    p->parcel.incarnation_low = net_incarnation(from);
    p->parcel.part_count = letter->part_count;
    p->parcel.free = free_parcel;
    atomic_init(&p->parcel.holds, 1);
    for (unsigned i = 0; i < letter->part_count; i++) {
        size_t bytes = letter->parts[i].bytes;
        if (from >= NET_WORKER_NODE && letter->lent >> i & 1) {
            p->parcel.parts[i] = letter->parts[i];
            continue;
        }
        p->memory[i] = malloc(bytes + 1);
        if (bytes > 0)
            memcpy(p->memory[i], letter->parts[i].data, bytes);
        p->parcel.parts[i] = (struct gw__post_part){p->memory[i], bytes};
    }
    return &p->parcel;
}

/* ---- mail ---- */

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

/* What is not lent is copied now. */
static void post(struct net *net, unsigned from,
                 const struct gw__letter *letter)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < letter->part_count; i++)
        bytes += letter->lent >> i & 1 ? 0 : letter->parts[i].bytes;
    struct net_mail *mail = new_mail(net, from, letter->node);
    mail->letter = *letter;
    mail->copy = malloc(bytes + 1);
    char *at = mail->copy;
    for (unsigned i = 0; i < letter->part_count; i++) {
        struct gw__post_part *part = &mail->letter.parts[i];
        if (letter->lent >> i & 1)
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
    if (mail->letter.lent && mail->letter.back)
        mail->letter.back(mail->letter.context);
    free(mail->copy);
    free(mail->what);
}

void net_send(struct net *net, unsigned worker, unsigned server,
              const struct gw__letter *letter)
{
    struct gw__letter to = *letter;
    to.node = server;
    post(net, NET_WORKER_NODE + worker, &to);
}

/* ---- workers ---- */

static void send_request(struct net *net, unsigned number)
{
    struct net_request *r = &net->requests[number];
    r->asked_ns = net->now_ns;
    for (unsigned server = 0; server < net->server_count; server++) {
        struct {
            struct gw__ps_head head;
            struct gw__ps_segment segments[GW_PS_SLOTS_MAX];
        } out = {.head = {.magic = GW__PS_MAGIC,
                          .kind = (uint16_t)r->kind,
                          .flags = r->half ? GW__PS_HALF : 0,
                          .request = number + 1,
                          .routes = net->routes.version,
                          .sequence = r->sequence,
                          .floor = r->floor,
                          .clock = r->clock,
                          .closed = r->closed,
                          .table = (uint16_t)r->table}};
        size_t width = net->routes.tables[r->table].width, keys = 0;
        uint64_t *key_data = malloc(r->count * sizeof *key_data + 1);
        float *values = malloc(r->count * width * sizeof *values + 1);
        for (unsigned s = 0; s < net->routes.slot_count; s++) {
            if (!(r->todo >> s & 1) || net->routes.slots[s].primary != server)
                continue;
            size_t before = keys;
            for (size_t i = 0; i < r->count; i++) {
                if (gw__route_slot(&net->routes, &net->routes.tables[r->table],
                                   r->keys[i]) != s)
                    continue;
                memcpy(values + keys * width, r->values + i * width,
                       width * sizeof *values);
                key_data[keys++] = r->keys[i];
            }
            out.segments[out.head.segments++] =
                (struct gw__ps_segment){s, (uint32_t)(keys - before)};
        }
        out.head.keys = keys;
        if (net->signatures && keys > 0) {
            out.head.key_list = gw__ps_key_list(out.segments, out.head.segments,
                                                key_data, keys, r->table);
            out.head.flags |= GW__PS_CACHE;
        }
        struct gw__letter letter = {.node = server, .part_count = 3};
        letter.parts[0] = (struct gw__post_part){
            &out, sizeof out.head + out.head.segments * sizeof *out.segments};
        letter.parts[1] =
            (struct gw__post_part){key_data, keys * sizeof *key_data};
        letter.parts[2] = (struct gw__post_part){
            values, r->kind == GW__PS_PUSH ? keys * width * sizeof *values : 0};
        letter.lent = 1U << 2;
        if (keys > 0)
            post(net, NET_WORKER_NODE + r->worker, &letter);
        r->memory = realloc(r->memory, (r->sent + 1) * sizeof *r->memory);
        r->memory[r->sent++] = values;
        free(key_data);
    }
}

static void send_clock(struct net *net, unsigned number)
{
    struct net_request *r = &net->requests[number];
    r->asked_ns = net->now_ns;
    unsigned slot = gw__clock_slot(r->table, net->routes.slot_count);
    uint8_t data[GW__CLOCK_COMMAND_MAX];
    struct gw__ps_head head = {.magic = GW__PS_MAGIC,
                               .kind = GW__PS_CLOCK,
                               .request = number + 1,
                               .routes = net->routes.version,
                               .group = (uint8_t)r->table};
    struct gw__letter letter = {.node = net->routes.slots[slot].primary,
                                .part_count = 2};
    letter.parts[0] = (struct gw__post_part){&head, sizeof head};
    letter.parts[1] = (struct gw__post_part){
        data, gw__clock_encode(&r->command, data, sizeof data)};
    if (letter.node < net->server_count)
        post(net, NET_WORKER_NODE + r->worker, &letter);
}

void net_repeat(struct net *net, unsigned request)
{
    if (net->requests[request].kind == GW__PS_CLOCK)
        send_clock(net, request);
    else
        send_request(net, request);
}

static uint64_t floor_of(const struct net *net, unsigned worker)
{
    uint64_t floor = net->sequences[worker];
    for (unsigned i = 0; i < net->request_count; i++) {
        const struct net_request *r = &net->requests[i];
        if (r->worker == worker && r->kind == GW__PS_PUSH && !r->done &&
            !r->failed && r->sequence <= floor)
            floor = r->sequence - 1;
    }
    return floor;
}

static struct net_request *new_request(struct net *net, unsigned worker,
                                       unsigned kind, unsigned table,
                                       const uint64_t *keys, size_t count)
{
    ck_assert_uint_lt(net->request_count, NET_PUSHES);
    struct net_request *r = &net->requests[net->request_count++];
    size_t width = net->routes.tables[table].width;
    *r = (struct net_request){.used = true,
                              .worker = worker,
                              .kind = kind,
                              .table = table,
                              .clock = GW__NO_CLOCK,
                              .count = count};
    r->keys = malloc(count * sizeof *keys + 1);
    r->values = calloc(count * width + 1, sizeof(float));
    if (count > 0)
        memcpy(r->keys, keys, count * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        r->todo |= UINT64_C(1) << gw__route_slot(
                       &net->routes, &net->routes.tables[table], keys[i]);
    return r;
}

unsigned net_push(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, const float *values,
                  uint64_t clock)
{
    uint64_t floor = floor_of(net, worker);
    struct net_request *r =
        new_request(net, worker, GW__PS_PUSH, table, keys, count);
    memcpy(r->values, values,
           count * net->routes.tables[table].width * sizeof *values);
    r->clock = clock;
    r->sequence = ++net->sequences[worker];
    r->floor = floor;
    send_request(net, net->request_count - 1);
    return net->request_count - 1;
}

unsigned net_pull(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, uint64_t closed)
{
    struct net_request *r =
        new_request(net, worker, GW__PS_PULL, table, keys, count);
    r->closed = closed;
    send_request(net, net->request_count - 1);
    return net->request_count - 1;
}

unsigned net_clock(struct net *net, unsigned worker, unsigned group,
                   const struct gw__clock_command *command)
{
    struct net_request *r = new_request(net, worker, GW__PS_CLOCK, 0, NULL, 0);
    r->table = group;
    r->todo = 1;
    r->command = *command;
    r->command.who = (struct gw__alive){
        NET_WORKER_NODE + worker, net_incarnation(NET_WORKER_NODE + worker)};
    send_clock(net, net->request_count - 1);
    return net->request_count - 1;
}

static void take_values(struct net *net, struct net_request *r, uint64_t done,
                        const struct gw__parcel *parcel)
{
    size_t width = net->routes.tables[r->table].width, at = 0;
    const float *values = parcel->parts[2].data;
    for (unsigned s = 0; s < net->routes.slot_count; s++)
        for (size_t i = 0; i < r->count && done >> s & 1; i++) {
            if (gw__route_slot(&net->routes, &net->routes.tables[r->table],
                               r->keys[i]) != s)
                continue;
            memcpy(r->values + i * width, values + at * width,
                   width * sizeof *values);
            at++;
        }
    ck_assert_uint_eq(parcel->parts[2].bytes, at * width * sizeof *values);
}

static void overwrite(struct net *net, struct net_request *r)
{
    size_t floats = r->count * net->routes.tables[r->table].width;
    for (unsigned i = 0; i < r->sent; i++)
        for (size_t j = 0; j < floats; j++)
            ((float *)r->memory[i])[j] = 12345;
}

static void on_reply(struct net *net, struct gw__parcel *parcel)
{
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    struct gw_error why;
    ck_assert_int_eq(gw__ps_check(parcel, &head, &segments, &why), GW_OK);
    ck_assert_int_eq(head->kind, GW__PS_REPLY);
    ck_assert(head->request >= 1 && head->request <= net->request_count);
    struct net_request *r = &net->requests[head->request - 1];
    if (r->done || r->failed)
        return;
    r->reply = *head;
    bool failed = head->code < 0;
    if (failed && !(head->flags & GW__PS_NEWER)) {
        size_t bytes = parcel->parts[1].bytes;
        memcpy(r->text, parcel->parts[1].data,
               bytes < sizeof r->text ? bytes : sizeof r->text - 1);
    }
    if (r->kind == GW__PS_CLOCK) {
        if (parcel->parts[2].bytes == sizeof r->work)
            memcpy(&r->work, parcel->parts[2].data, sizeof r->work);
        r->todo = head->code == GW_OK ? 0 : r->todo;
    } else {
        if (r->kind == GW__PS_PULL && head->done)
            take_values(net, r, head->done, parcel);
        r->todo &= ~head->done;
    }
    r->failed = failed;
    r->done = !failed && r->todo == 0;
    if (r->done && r->kind == GW__PS_PUSH)
        overwrite(net, r);
}

static void repeat_requests(struct net *net)
{
    for (unsigned i = 0; i < net->request_count; i++) {
        struct net_request *r = &net->requests[i];
        if (!r->done && !r->failed && net->alive[r->worker] &&
            net->now_ns - r->asked_ns >= 40 * NET_MS)
            net_repeat(net, i);
    }
}

/* ---- servers ---- */

struct place {
    struct net *net;
    unsigned server;
};
static struct place places[NET_SERVERS];

static void on_send(void *context, const struct gw__letter *letter)
{
    struct place *place = context;
    post(place->net, place->server, letter);
}

static uint64_t server_bits(const struct net *net)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < net->server_count; i++)
        bits |= net->gone[i] ? 0 : UINT64_C(1) << i;
    return bits;
}

static void on_propose(void *context, const struct gw__command *command)
{
    struct place *place = context;
    struct net *net = place->net;
    net->proposals++;
    if (net->no_proposals || chance(net, net->loss_ppm) ||
        net->gone[place->server])
        return;
    enum gw_err err = (command->kind == GW__CMD_PROMOTE ? gw__routes_promote
                                                        : gw__routes_handover)(
        &net->routes, command->slot.slot, command->slot.term,
        command->slot.node, server_bits(net), NULL);
    if (err == GW_OK)
        net_news(net);
}

static void on_saved(void *context, uint64_t mark, unsigned slot,
                     const void *data, size_t bytes)
{
    struct net *net = ((struct place *)context)->net;
    ck_assert_uint_lt(net->saved_count, 256);
    struct net_saved *saved = &net->saved[net->saved_count++];
    *saved = (struct net_saved){mark, slot, (unsigned)bytes, malloc(bytes)};
    memcpy(saved->data, data, bytes);
}

static void start(struct net *net, unsigned i)
{
    struct gw_error why;
    places[i] = (struct place){net, i};
    struct gw__server_config *config = &net->configs[i];
    config->node = i;
    config->incarnation = id_of(i);
    config->out = (struct gw__server_out){.context = &places[i],
                                          .send = on_send,
                                          .propose = on_propose,
                                          .saved = on_saved};
    ck_assert_int_eq(gw__server_new(config, &net->servers[i], &why), GW_OK);
}

static struct gw__news *make_news(const struct net *net)
{
    struct gw__news *news = calloc(1, sizeof *news);
    ck_assert_ptr_nonnull(news);
    news->index = net->index;
    news->routes = net->routes;
    for (unsigned i = 0; i < net->server_count; i++)
        if (!net->gone[i])
            news->crew[news->crew_count++] = (struct gw__crew_member){
                .node = i, .role = GW__SERVER, .incarnation = id_of(i)};
    for (unsigned i = 0; i < NET_WORKERS; i++)
        if (net->alive[i])
            news->crew[news->crew_count++] = (struct gw__crew_member){
                .node = NET_WORKER_NODE + i,
                .role = GW__WORKER,
                .incarnation = id_of(NET_WORKER_NODE + i)};
    return news;
}

void net_news(struct net *net)
{
    net->index++;
    for (unsigned i = 0; i < net->server_count; i++) {
        struct net_mail *mail = new_mail(net, i, i);
        mail->news = true;
        mail->what = make_news(net);
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
    gw__routes_servers(&net->routes, server_bits(net));
    net_news(net);
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
        net_place(net);
    return net;
}

void net_add_silent(struct net *net)
{
    ck_assert_uint_lt(net->server_count, NET_SERVERS);
    start(net, net->server_count++);
}

void net_place(struct net *net)
{
    gw__routes_servers(&net->routes, server_bits(net));
    net_news(net);
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
    net_news(net);
    net_run(net, 10);
    return table;
}

void net_kill(struct net *net, unsigned server)
{
    gw__server_destroy(&net->servers[server]);
}

void net_convict(struct net *net, unsigned server)
{
    net->gone[server] = true;
    gw__routes_servers(&net->routes, server_bits(net));
    net_news(net);
}

void net_end_worker(struct net *net, unsigned worker)
{
    net->alive[worker] = false;
    net_news(net);
}

/* ---- time ---- */

static void deliver(struct net *net, struct net_mail *mail)
{
    if (mail->to >= NET_WORKER_NODE) {
        struct gw__parcel *parcel = make_parcel(mail->from, &mail->letter);
        if (net->alive[mail->to - NET_WORKER_NODE])
            on_reply(net, parcel);
        gw__parcel_release(parcel);
        return;
    }
    struct gw__server *server = net->servers[mail->to];
    if (!server)
        return;
    if (mail->news)
        gw__server_news(server, net->now_ns, mail->what);
    else
        gw__server_parcel(server, net->now_ns,
                          make_parcel(mail->from, &mail->letter));
    gw__server_flush(server, net->now_ns);
}

/* The next that is due, but what a paused server is to get stays. */
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
    if (!mail.news && chance(net, net->loss_ppm)) {
        end_mail(&mail);
        return true;
    }
    if (!mail.news && chance(net, net->double_ppm)) {
        struct gw__letter again = mail.letter;
        if (mail.from < NET_WORKER_NODE)
            again.lent = 0;
        again.node = mail.to;
        post(net, mail.from, &again);
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
            repeat_requests(net);
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

void net_explain(const struct net *net)
{
    for (unsigned i = 0; i < net->request_count; i++) {
        const struct net_request *r = &net->requests[i];
        if (!r->done)
            printf("request %u kind %u of worker %u: todo %llx, code %d %s\n",
                   i, r->kind, r->worker, (unsigned long long)r->todo,
                   r->reply.code, r->text);
    }
    for (unsigned i = 0; i < net->server_count; i++) {
        static struct gw_ps_server_status status;
        if (!net->servers[i])
            continue;
        gw__server_get_status(net->servers[i], &status);
        printf("server %u: due %d %s\n", i,
               gw__server_due(net->servers[i]) != UINT64_MAX, status.text);
        for (unsigned s = 0; s < status.slot_count; s++)
            printf("  slot %u role %d term %llu last %llu committed %llu | "
                   "primary %u learner %u leaver %u heir %u term %llu\n",
                   s, status.slots[s].role,
                   (unsigned long long)status.slots[s].term,
                   (unsigned long long)status.slots[s].last,
                   (unsigned long long)status.slots[s].committed,
                   net->routes.slots[s].primary, net->routes.slots[s].learner,
                   net->routes.slots[s].leaver, net->routes.slots[s].heir,
                   (unsigned long long)net->routes.slots[s].term);
    }
    fflush(stdout);
}

void net_settle(struct net *net, unsigned ms)
{
    for (unsigned i = 0; i < ms && !is_quiet(net); i++)
        net_run(net, 1);
    if (!is_quiet(net))
        net_explain(net);
    ck_assert_msg(is_quiet(net), "seed %llu: not quiet after %u ms",
                  (unsigned long long)net->seed, ms);
}

bool net_done(const struct net *net, unsigned request)
{
    return net->requests[request].done;
}

struct net_request *net_wait(struct net *net, unsigned request)
{
    struct net_request *r = &net->requests[request];
    for (unsigned i = 0; i < 10000 && !r->done && !r->failed; i++)
        net_run(net, 1);
    if (!r->done && !r->failed)
        net_explain(net);
    ck_assert_msg(r->done || r->failed, "seed %llu: request %u is not done",
                  (unsigned long long)net->seed, request);
    return r;
}

float net_value(struct net *net, unsigned table, uint64_t key)
{
    return net_wait(net, net_pull(net, 0, table, &key, 1, 0))->values[0];
}

unsigned net_compare_replicas(struct net *net)
{
    unsigned compared = 0;
    for (unsigned s = 0; s < net->routes.slot_count; s++) {
        const struct gw__slot_route *route = &net->routes.slots[s];
        uint64_t first = 0;
        for (unsigned i = 0; i < route->count; i++) {
            uint64_t digest =
                gw__server_digest(net->servers[route->replica[i]], s);
            ck_assert_uint_ne(digest, 0);
            first = i == 0 ? digest : first;
            ck_assert_msg(digest == first,
                          "seed %llu: slot %u differs on server %u",
                          (unsigned long long)net->seed, s, route->replica[i]);
            compared++;
        }
    }
    return compared;
}
