/* SPDX-License-Identifier: MIT
 *
 * The fake servers; see ps_fake.h.
 */
#include "ps_fake.h"

#include <ps/store/update.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;

static const uint64_t step_ns = 1000000;

/* ---- messages ---- */

static struct fake_mail *new_mail(void)
{
    for (unsigned i = 0; i < FAKE_MESSAGES; i++)
        if (!fake.mail[i].used) {
            memset(&fake.mail[i], 0, sizeof fake.mail[i]);
            fake.mail[i].used = true;
            fake.mail_count++;
            return &fake.mail[i];
        }
    ck_abort_msg("more letters than any worker should send");
    return NULL;
}

static void put_part(struct fake_mail *mail, unsigned i, const void *data,
                     size_t bytes)
{
    mail->bytes[i] = bytes;
    mail->parts[i] = malloc(bytes + 8);
    if (bytes)
        memcpy(mail->parts[i], data, bytes);
}

static void free_mail(struct fake_mail *mail)
{
    if (mail->back) {
        ck_assert(memcmp(mail->borrowed_data, mail->parts[2], mail->bytes[2]) ==
                  0);
        mail->back(mail->context);
        fake.back++;
    }
    for (unsigned i = 0; i < GW__MESSENGER_PARTS; i++)
        free(mail->parts[i]);
    mail->used = false;
    fake.mail_count--;
}

/* ---- messages of a worker ---- */

static const struct gw__ps_segment *segments_of(const struct gw__ps_head *head)
{
    return (const struct gw__ps_segment *)(const void *)(head + 1);
}

static uint64_t slots_of(const struct gw__ps_head *head)
{
    const struct gw__ps_segment *s = segments_of(head);
    uint64_t slots = 0;
    for (unsigned i = 0; i < head->segments; i++)
        slots |= (uint64_t)1 << s[i].slot;
    return slots;
}

static void check_push(const struct gw__ps_head *head)
{
    uint64_t sequence = head->sequence;
    ck_assert_uint_gt(sequence, 0);
    ck_assert_uint_lt(sequence, FAKE_SEQUENCES);
    ck_assert_uint_gt(sequence, head->low_watermark);
    ck_assert_uint_le(sequence, head->low_watermark + 64);
    fake.needed[sequence] |= slots_of(head);
    for (uint64_t s = fake.lied ? 0 : head->low_watermark;
         s > 0 && s + 200 > head->low_watermark; s--)
        ck_assert_msg(fake.needed[s] == fake.acked[s],
                      "the floor is %llu, but %llu is not acknowledged",
                      (unsigned long long)head->low_watermark,
                      (unsigned long long)s);
}

static void fake_send(void *context, const struct gw__message_out *message)
{
    const struct gw__ps_head *head = message->parts[0].data;
    (void)context;
    ck_assert_uint_ge(message->node, FAKE_FIRST);
    ck_assert_uint_lt(message->node, FAKE_FIRST + FAKE_SERVERS);
    struct fake_mail *mail = new_mail();
    mail->server = message->node - FAKE_FIRST;
    for (unsigned i = 0; i < message->part_count; i++)
        put_part(mail, i, message->parts[i].data, message->parts[i].bytes);
    if (message->borrowed) {
        ck_assert_uint_eq(message->borrowed, 4);
        mail->borrowed_data = message->parts[2].data;
        mail->back = message->back;
        mail->context = message->context;
        fake.borrowed++;
    }
    if (mail->bytes[2] > fake.largest)
        fake.largest = mail->bytes[2];
    fake.messages++;
    fake.nans = head->nans;
    if (head->kind == GW__PS_PUSH || head->kind == GW__PS_PUSH_PULL)
        check_push(head);
}

/* ---- servers ---- */

static bool is_duplicate(struct fake_slot *slot, const struct gw__ps_head *head)
{
    while (slot->low_watermark < head->low_watermark) {
        slot->low_watermark++;
        slot->above >>= 1;
    }
    if (head->sequence <= slot->low_watermark)
        return true;
    uint64_t bit = (uint64_t)1 << (head->sequence - slot->low_watermark - 1);
    ck_assert_uint_le(head->sequence, slot->low_watermark + 64);
    bool duplicate = slot->above & bit;
    slot->above |= bit;
    return duplicate;
}

/* NULL: the worker must send them. */
static const uint64_t *keys_of(const struct fake_mail *mail,
                               const struct gw__ps_head *head)
{
    const struct gw__ps_segment *segments =
        (const struct gw__ps_segment *)(const void *)(head + 1);
    struct fake_list *lists = fake.lists[mail->server];
    struct fake_list *list = &lists[head->key_list % FAKE_LISTS];
    if (fake.forgetful && gw_rng_below(&fake.rng, 10) == 0)
        list->signature = 0;
    if (mail->bytes[1] == 0) {
        fake.bare++;
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
    uint32_t width = fake.truth.tables[0].width;
    for (size_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < width; c++)
            fake.values[keys[i] * width + c] += values[i * width + c];
    fake.applied++;
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
    uint32_t width = fake.truth.tables[0].width;
    for (uint32_t i = 0; i < s->keys; i++)
        ck_assert_uint_eq(
            gw__route_slot(&fake.truth, &fake.truth.tables[0], keys[i]),
            s->slot);
    if (values && !is_duplicate(&fake.slots[s->slot], head))
        apply(keys, s->keys, values);
    else
        fake.duplicates += values != NULL;
    r->head.done |= (uint64_t)1 << (s - segments_of(head));
    r->head.closed |= (uint64_t)1 << s->slot; /* for record_acks */
    for (uint32_t i = 0; head->kind != GW__PS_PUSH && i < s->keys; i++) {
        memcpy(r->values + r->count, fake.values + keys[i] * width,
               width * sizeof(float));
        r->count += width;
    }
}

/* The pushed values as floats; NULL: none. */
static float *pushed(const struct fake_mail *mail,
                     const struct gw__ps_head *head)
{
    size_t count = head->keys * fake.truth.tables[0].width;
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

static void serve(struct reply *r, const struct fake_mail *mail,
                  const struct gw__ps_head *head, const uint64_t *keys)
{
    const struct gw__ps_segment *s =
        (const struct gw__ps_segment *)(const void *)(head + 1);
    uint32_t width = fake.truth.tables[0].width;
    float *values = pushed(mail, head), *at = values;
    r->values = malloc(head->keys * width * sizeof(float) + 8);
    for (unsigned i = 0; i < head->segments; i++, s++) {
        if (fake.truth.slots[s->slot].primary == mail->server + FAKE_FIRST)
            serve_segment(r, head, s, keys, at);
        keys += s->keys;
        at += values ? s->keys * width : 0;
    }
    free(values);
}

static void send_reply(const struct fake_mail *to, struct reply *r)
{
    uint8_t routes[8192];
    struct gw__writer w = gw__writer_on(routes, sizeof routes);
    struct fake_mail *mail = new_mail();
    mail->from_server = true;
    mail->server = to->server;
    if (r->head.flags & GW__PS_NEWER)
        gw__put_routes(&w, &fake.truth);
    ck_assert(gw__writer_fits(&w));
    put_part(mail, 1, routes, w.used);
    if (fake.halves && r->count) {
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

/* Commands: the clock always grants item 7, a directory is known, then saved.
 */
static void answer_command(struct reply *r, const struct fake_mail *mail,
                           const struct gw__ps_head *head)
{
    static const struct gw_ps_work work = {.epoch = 7, .parts = 1};
    unsigned slot = gw__clock_slot(head->group, fake.truth.slot_count);
    if (head->kind == GW__PS_SAVE)
        r->head.code = fake.saves++ ? GW_OK : GW_PENDING;
    else if (fake.truth.slots[slot].primary != mail->server + FAKE_FIRST)
        r->head.code = GW_EUNREACH;
    else {
        r->values = malloc(sizeof work);
        memcpy(r->values, &work, sizeof work);
        r->count = sizeof work / sizeof *r->values;
    }
    if (r->head.code == GW_EUNREACH)
        r->head.flags |= GW__PS_NEWER;
}

static void at_server(const struct fake_mail *mail)
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
    if (fake.refuse_for_good && head->kind == GW__PS_PUSH)
        r.head.code = fake.refuse_for_good;
    else if (!keys)
        r.head.flags = GW__PS_WANT_KEYS;
    else
        serve(&r, mail, head, keys);
    if (!r.head.code && r.head.closed != slots_of(head)) {
        r.head.code = GW_EUNREACH;
        if (head->routes < fake.truth.version &&
            !(r.head.flags & GW__PS_WANT_KEYS))
            r.head.flags |= GW__PS_NEWER;
    }
    send_reply(mail, &r);
}

/* ---- the worker's end ---- */

static void free_message(struct gw__message_in *message)
{
    free(message);
}

/* These servers name the acknowledged push and its slots in the reply. */
static void record_acks(const struct gw__ps_head *head)
{
    uint64_t sequence = head->sequence;
    if (sequence < FAKE_SEQUENCES)
        fake.acked[sequence] |=
            head->closed |
            (head->code == GW_EINVAL ? fake.needed[sequence] : 0);
}

static void at_worker(const struct fake_mail *mail)
{
    struct gw__message_in *message = calloc(1, sizeof *message);
    const struct gw__ps_head *head = mail->parts[0];
    message->from = mail->server + FAKE_FIRST;
    message->part_count = 3;
    message->free = free_message;
    atomic_init(&message->holds, 1);
    for (unsigned i = 0; i < 3; i++)
        message->parts[i] =
            (struct gw__messenger_part){mail->parts[i], mail->bytes[i]};
    record_acks(head);
    gw__worker_message_in(fake.worker, fake.now_ns, message);
}

/* ---- time ---- */

static void arrive(void)
{
    unsigned skip = (unsigned)gw_rng_below(&fake.rng, fake.mail_count), i = 0;
    while (!fake.mail[i].used || skip-- > 0)
        i++;
    struct fake_mail mail = fake.mail[i];
    bool twice = gw_rng_below(&fake.rng, 100) < fake.twice;
    if (gw_rng_below(&fake.rng, 100) >= fake.loss) {
        if (mail.from_server)
            at_worker(&mail);
        else
            at_server(&mail);
    }
    if (!twice)
        free_mail(&fake.mail[i]);
}

void fake_step(void)
{
    if (fake.mail_count > 0 && gw_rng_below(&fake.rng, 8)) {
        arrive();
        return;
    }
    fake.now_ns += step_ns;
    if (gw__worker_due(fake.worker) <= fake.now_ns)
        gw__worker_tick(fake.worker, fake.now_ns);
}

enum gw_err fake_wait(uint64_t request)
{
    struct gw_error why;
    for (unsigned i = 0; i < 2000000; i++) {
        enum gw_err err = gw__worker_result(fake.worker, request, &why);
        if (err != GW_PENDING)
            return err;
        fake_step();
    }
    char text[256];
    gw__worker_describe_wait(fake.worker, fake.now_ns, text, sizeof text);
    ck_abort_msg("the request never ends: it waits for %s", text);
    return GW_ETIMEOUT;
}

void fake_move(unsigned slots)
{
    for (; slots > 0; slots--) {
        uint64_t slot = gw_rng_below(&fake.rng, fake.truth.slot_count);
        struct gw__slot_route *route = &fake.truth.slots[slot];
        route->primary =
            (uint8_t)(FAKE_FIRST + gw_rng_below(&fake.rng, FAKE_SERVERS));
        route->replica[0] = route->primary;
        route->term++;
    }
    fake.truth.version++;
}

void fake_begin(uint64_t seed, unsigned slots, uint32_t width,
                const struct gw__worker_config *config)
{
    struct gw_error why;
    struct gw__worker_config mine = *config;
    memset(&fake, 0, sizeof fake);
    gw_rng_seed(&fake.rng, seed);
    fake.now_ns = step_ns;
    fake.values = calloc((size_t)FAKE_KEYS * width, sizeof *fake.values);
    gw__routes_init(&fake.truth);
    fake.truth.version = 1;
    fake.truth.slot_count = slots;
    fake.truth.replicas = fake.truth.servers = 1;
    fake.truth.table_count = 1;
    fake.truth.tables[0] = (struct gw_ps_table_config){
        .name = "toy", .width = width, .updater = GW_PS_ADD};
    for (unsigned slot = 0; slot < slots; slot++)
        fake.truth.slots[slot] =
            (struct gw__slot_route){.term = 1,
                                    .primary = FAKE_FIRST,
                                    .count = 1,
                                    .replica = {FAKE_FIRST},
                                    .learner = GW__NO_NODE,
                                    .leaver = GW__NO_NODE,
                                    .successor = GW__NO_NODE};
    mine.node = 1;
    mine.send = fake_send;
    ck_assert(!gw__worker_new(&mine, &fake.worker, &why));
    fake_move(slots);
    gw__worker_routes(fake.worker, fake.now_ns, &fake.truth);
}

void fake_end(void)
{
    for (unsigned i = 0; i < FAKE_MESSAGES; i++)
        if (fake.mail[i].used)
            free_mail(&fake.mail[i]);
    gw__worker_destroy(&fake.worker);
    for (unsigned s = 0; s < FAKE_SERVERS; s++)
        for (unsigned i = 0; i < FAKE_LISTS; i++)
            free(fake.lists[s][i].keys);
    free(fake.values);
}
