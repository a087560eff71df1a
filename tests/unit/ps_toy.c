/* SPDX-License-Identifier: MIT
 *
 * The toy servers; see ps_toy.h.
 */
#include "ps_toy.h"

#include <ps/store/update.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct toy toy;

static const uint64_t step_ns = 1000000;

/* ---- messages ---- */

static struct toy_mail *new_mail(void)
{
    for (unsigned i = 0; i < TOY_LETTERS; i++)
        if (!toy.mail[i].used) {
            memset(&toy.mail[i], 0, sizeof toy.mail[i]);
            toy.mail[i].used = true;
            toy.mail_count++;
            return &toy.mail[i];
        }
    ck_abort_msg("more letters than any worker should send");
    return NULL;
}

static void put_part(struct toy_mail *mail, unsigned i, const void *data,
                     size_t bytes)
{
    mail->bytes[i] = bytes;
    mail->parts[i] = malloc(bytes + 8);
    if (bytes)
        memcpy(mail->parts[i], data, bytes);
}

static void free_mail(struct toy_mail *mail)
{
    if (mail->back) {
        ck_assert(memcmp(mail->lent_data, mail->parts[2], mail->bytes[2]) == 0);
        mail->back(mail->context);
        toy.back++;
    }
    for (unsigned i = 0; i < GW__MESSENGER_PARTS; i++)
        free(mail->parts[i]);
    mail->used = false;
    toy.mail_count--;
}

/* ---- messages of a worker ---- */

static uint64_t slots_of(const struct gw__ps_head *head)
{
    const struct gw__ps_segment *s =
        (const struct gw__ps_segment *)(const void *)(head + 1);
    uint64_t slots = 0;
    for (unsigned i = 0; i < head->segments; i++)
        slots |= (uint64_t)1 << s[i].slot;
    return slots;
}

static void check_push(const struct gw__ps_head *head)
{
    uint64_t sequence = head->sequence;
    ck_assert_uint_gt(sequence, 0);
    ck_assert_uint_lt(sequence, TOY_SEQUENCES);
    ck_assert_uint_gt(sequence, head->low_watermark);
    ck_assert_uint_le(sequence, head->low_watermark + 64);
    toy.needed[sequence] |= slots_of(head);
    for (uint64_t s = toy.lied ? 0 : head->low_watermark;
         s > 0 && s + 200 > head->low_watermark; s--)
        ck_assert_msg(toy.needed[s] == toy.acked[s],
                      "the floor is %llu, but %llu is not acknowledged",
                      (unsigned long long)head->low_watermark,
                      (unsigned long long)s);
}

static void toy_send(void *context, const struct gw__message_out *message)
{
    const struct gw__ps_head *head = message->parts[0].data;
    (void)context;
    ck_assert_uint_ge(message->node, TOY_FIRST);
    ck_assert_uint_lt(message->node, TOY_FIRST + TOY_SERVERS);
    struct toy_mail *mail = new_mail();
    mail->server = message->node - TOY_FIRST;
    for (unsigned i = 0; i < message->part_count; i++)
        put_part(mail, i, message->parts[i].data, message->parts[i].bytes);
    if (message->lent) {
        ck_assert_uint_eq(message->lent, 4);
        mail->lent_data = message->parts[2].data;
        mail->back = message->back;
        mail->context = message->context;
        toy.lent++;
    }
    if (mail->bytes[2] > toy.largest)
        toy.largest = mail->bytes[2];
    toy.letters++;
    toy.nans = head->nans;
    if (head->kind == GW__PS_PUSH || head->kind == GW__PS_PUSH_PULL)
        check_push(head);
}

/* ---- servers ---- */

static bool has_seen(struct toy_slot *slot, const struct gw__ps_head *head)
{
    while (slot->floor < head->low_watermark) {
        slot->floor++;
        slot->above >>= 1;
    }
    if (head->sequence <= slot->floor)
        return true;
    uint64_t bit = (uint64_t)1 << (head->sequence - slot->floor - 1);
    ck_assert_uint_le(head->sequence, slot->floor + 64);
    bool seen = slot->above & bit;
    slot->above |= bit;
    return seen;
}

/* NULL: the worker must send them. */
static const uint64_t *keys_of(const struct toy_mail *mail,
                               const struct gw__ps_head *head)
{
    const struct gw__ps_segment *segments =
        (const struct gw__ps_segment *)(const void *)(head + 1);
    struct toy_list *lists = toy.lists[mail->server];
    struct toy_list *list = &lists[head->key_list % TOY_LISTS];
    if (toy.forgetful && gw_rng_below(&toy.rng, 10) == 0)
        list->signature = 0;
    if (mail->bytes[1] == 0) {
        toy.bare++;
        return list->signature == head->key_list ? list->keys : NULL;
    }
    ck_assert_uint_eq(mail->bytes[1], head->keys * 8);
    if (head->key_list) {
        ck_assert(head->flags & GW__PS_CACHE);
        ck_assert(head->key_list == gw__ps_key_list(segments, head->segments,
                                                    mail->parts[1], head->keys,
                                                    head->table));
        free(list->keys);
        list->keys = malloc(mail->bytes[1]);
        memcpy(list->keys, mail->parts[1], mail->bytes[1]);
        list->signature = head->key_list;
        list->count = head->keys;
    }
    return mail->parts[1];
}

static void apply(const uint64_t *keys, size_t count, const float *values)
{
    uint32_t width = toy.truth.tables[0].width;
    for (size_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < width; c++)
            toy.values[keys[i] * width + c] += values[i * width + c];
    toy.applied++;
}

struct reply {
    struct gw__ps_head head;
    float *values;
    size_t count;
};

static void serve_segment(struct reply *r, const struct gw__ps_head *head,
                          const struct gw__ps_segment *s, const uint64_t *keys,
                          const float *values)
{
    uint32_t width = toy.truth.tables[0].width;
    for (uint32_t i = 0; i < s->keys; i++)
        ck_assert_uint_eq(
            gw__route_slot(&toy.truth, &toy.truth.tables[0], keys[i]), s->slot);
    if (values && !has_seen(&toy.slots[s->slot], head))
        apply(keys, s->keys, values);
    else
        toy.duplicates += values != NULL;
    r->head.done |= (uint64_t)1 << s->slot;
    for (uint32_t i = 0; head->kind != GW__PS_PUSH && i < s->keys; i++) {
        memcpy(r->values + r->count, toy.values + keys[i] * width,
               width * sizeof(float));
        r->count += width;
    }
}

/* The pushed values as floats; NULL: none. */
static float *pushed(const struct toy_mail *mail,
                     const struct gw__ps_head *head)
{
    size_t count = head->keys * toy.truth.tables[0].width;
    if (head->kind == GW__PS_PULL)
        return NULL;
    float *values = malloc(count * sizeof *values + 8);
    if (head->flags & GW__PS_HALF) {
        ck_assert_uint_eq(mail->bytes[2], 2 * count);
        gw__from_half(values, mail->parts[2], count);
    } else {
        ck_assert_uint_eq(mail->bytes[2], 4 * count);
        memcpy(values, mail->parts[2], 4 * count);
    }
    return values;
}

static void serve(struct reply *r, const struct toy_mail *mail,
                  const struct gw__ps_head *head, const uint64_t *keys)
{
    const struct gw__ps_segment *s =
        (const struct gw__ps_segment *)(const void *)(head + 1);
    uint32_t width = toy.truth.tables[0].width;
    float *values = pushed(mail, head), *at = values;
    r->values = malloc(head->keys * width * sizeof(float) + 8);
    for (unsigned i = 0; i < head->segments; i++, s++) {
        if (toy.truth.slots[s->slot].primary == mail->server + TOY_FIRST)
            serve_segment(r, head, s, keys, at);
        keys += s->keys;
        at += values ? s->keys * width : 0;
    }
    free(values);
}

static void send_reply(const struct toy_mail *to, struct reply *r)
{
    uint8_t routes[8192];
    struct gw__writer w = gw__writer_on(routes, sizeof routes);
    struct toy_mail *mail = new_mail();
    mail->from_server = true;
    mail->server = to->server;
    if (r->head.flags & GW__PS_NEWER)
        gw__put_routes(&w, &toy.truth);
    ck_assert(gw__writer_fits(&w));
    put_part(mail, 1, routes, w.used);
    if (toy.halves && r->count) {
        uint16_t *halves = malloc(2 * r->count);
        gw__to_half(halves, r->values, r->count);
        r->head.flags |= GW__PS_HALF;
        put_part(mail, 2, halves, 2 * r->count);
        free(halves);
    } else
        put_part(mail, 2, r->values, 4 * r->count);
    put_part(mail, 0, &r->head, sizeof r->head);
    free(r->values);
}

/* Commands: the clock always grants unit 7, a directory is known, then saved.
 */
static void answer_command(struct reply *r, const struct toy_mail *mail,
                           const struct gw__ps_head *head)
{
    static const struct gw_ps_work work = {.epoch = 7, .parts = 1};
    unsigned slot = gw__clock_slot(head->group, toy.truth.slot_count);
    if (head->kind == GW__PS_SAVE)
        r->head.code = toy.saves++ ? GW_OK : GW_PENDING;
    else if (toy.truth.slots[slot].primary != mail->server + TOY_FIRST)
        r->head.code = GW_EUNREACH;
    else {
        r->values = malloc(sizeof work);
        memcpy(r->values, &work, sizeof work);
        r->count = sizeof work / sizeof *r->values;
    }
    if (r->head.code == GW_EUNREACH)
        r->head.flags |= GW__PS_NEWER;
}

static void at_server(const struct toy_mail *mail)
{
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    struct gw_error why;
    struct gw__message_in message = {.from = 1, .part_count = 3};
    for (unsigned i = 0; i < 3; i++)
        message.parts[i] =
            (struct gw__messenger_part){mail->parts[i], mail->bytes[i]};
    ck_assert_msg(!gw__ps_check(&message, &head, &segments, &why), "%s",
                  why.text);
    struct reply r = {.head = {.magic = GW__PS_MAGIC,
                               .kind = GW__PS_REPLY,
                               .sequence = head->sequence,
                               .request = head->request}};
    if (head->kind == GW__PS_CLOCK || head->kind == GW__PS_SAVE) {
        answer_command(&r, mail, head);
        send_reply(mail, &r);
        return;
    }
    const uint64_t *keys = keys_of(mail, head);
    if (toy.refuse_for_good && head->kind == GW__PS_PUSH)
        r.head.code = toy.refuse_for_good;
    else if (!keys)
        r.head.flags = GW__PS_WANT_KEYS;
    else
        serve(&r, mail, head, keys);
    if (!r.head.code && r.head.done != slots_of(head)) {
        r.head.code = GW_EUNREACH;
        if (head->routes < toy.truth.version &&
            !(r.head.flags & GW__PS_WANT_KEYS))
            r.head.flags |= GW__PS_NEWER;
    }
    send_reply(mail, &r);
}

/* ---- the worker's end ---- */

static void free_parcel(struct gw__message_in *message)
{
    free(message);
}

/* These servers name the acknowledged push in the reply. */
static void note_acks(const struct gw__ps_head *head)
{
    uint64_t sequence = head->sequence;
    if (sequence < TOY_SEQUENCES)
        toy.acked[sequence] |=
            head->done | (head->code == GW_EINVAL ? toy.needed[sequence] : 0);
}

static void at_worker(const struct toy_mail *mail)
{
    struct gw__message_in *message = calloc(1, sizeof *message);
    const struct gw__ps_head *head = mail->parts[0];
    message->from = mail->server + TOY_FIRST;
    message->part_count = 3;
    message->free = free_parcel;
    atomic_init(&message->holds, 1);
    for (unsigned i = 0; i < 3; i++)
        message->parts[i] =
            (struct gw__messenger_part){mail->parts[i], mail->bytes[i]};
    note_acks(head);
    gw__worker_message_in(toy.worker, toy.now_ns, message);
}

/* ---- time ---- */

static void arrive(void)
{
    unsigned skip = (unsigned)gw_rng_below(&toy.rng, toy.mail_count), i = 0;
    while (!toy.mail[i].used || skip-- > 0)
        i++;
    struct toy_mail mail = toy.mail[i];
    bool twice = gw_rng_below(&toy.rng, 100) < toy.twice;
    if (gw_rng_below(&toy.rng, 100) >= toy.loss) {
        if (mail.from_server)
            at_worker(&mail);
        else
            at_server(&mail);
    }
    if (!twice)
        free_mail(&toy.mail[i]);
}

void toy_step(void)
{
    if (toy.mail_count > 0 && gw_rng_below(&toy.rng, 8)) {
        arrive();
        return;
    }
    toy.now_ns += step_ns;
    if (gw__worker_due(toy.worker) <= toy.now_ns)
        gw__worker_tick(toy.worker, toy.now_ns);
}

enum gw_err toy_wait(uint64_t request)
{
    struct gw_error why;
    for (unsigned i = 0; i < 2000000; i++) {
        enum gw_err err = gw__worker_result(toy.worker, request, &why);
        if (err != GW_PENDING)
            return err;
        toy_step();
    }
    char text[256];
    gw__worker_waits_for(toy.worker, toy.now_ns, text, sizeof text);
    ck_abort_msg("the request never ends: it waits for %s", text);
    return GW_ETIMEOUT;
}

void toy_move(unsigned slots)
{
    for (; slots > 0; slots--) {
        uint64_t slot = gw_rng_below(&toy.rng, toy.truth.slot_count);
        struct gw__slot_route *route = &toy.truth.slots[slot];
        route->primary =
            (uint8_t)(TOY_FIRST + gw_rng_below(&toy.rng, TOY_SERVERS));
        route->replica[0] = route->primary;
        route->term++;
    }
    toy.truth.version++;
}

void toy_begin(uint64_t seed, unsigned slots, uint32_t width,
               const struct gw__worker_config *config)
{
    struct gw_error why;
    struct gw__worker_config mine = *config;
    memset(&toy, 0, sizeof toy);
    gw_rng_seed(&toy.rng, seed);
    toy.now_ns = step_ns;
    toy.values = calloc((size_t)TOY_KEYS * width, sizeof *toy.values);
    gw__routes_init(&toy.truth);
    toy.truth.version = 1;
    toy.truth.slot_count = slots;
    toy.truth.replicas = toy.truth.servers = 1;
    toy.truth.table_count = 1;
    toy.truth.tables[0] = (struct gw_ps_table_config){
        .name = "toy", .width = width, .updater = GW_PS_ADD};
    for (unsigned slot = 0; slot < slots; slot++)
        toy.truth.slots[slot] =
            (struct gw__slot_route){.term = 1,
                                    .primary = TOY_FIRST,
                                    .count = 1,
                                    .replica = {TOY_FIRST},
                                    .learner = GW__NO_NODE,
                                    .leaver = GW__NO_NODE,
                                    .successor = GW__NO_NODE};
    mine.node = 1;
    mine.send = toy_send;
    ck_assert(!gw__worker_new(&mine, &toy.worker, &why));
    toy_move(slots);
    gw__worker_routes(toy.worker, toy.now_ns, &toy.truth);
}

void toy_end(void)
{
    for (unsigned i = 0; i < TOY_LETTERS; i++)
        if (toy.mail[i].used)
            free_mail(&toy.mail[i]);
    gw__worker_destroy(&toy.worker);
    for (unsigned s = 0; s < TOY_SERVERS; s++)
        for (unsigned i = 0; i < TOY_LISTS; i++)
            free(toy.lists[s][i].keys);
    free(toy.values);
}
