/* SPDX-License-Identifier: MIT
 *
 * For tests of the worker's machine: servers that keep all values in one place,
 * as if all replicas always agreed, behind a network that drops, duplicates and
 * reorders messages, and slots that move between servers without notice. Time
 * is virtual.
 *
 * It checks every error that a server could see: a sequence number outside the
 * window, a low-water mark above an unacknowledged push, a key list that
 * changed, memory that changed while it was lent.
 */
#ifndef TESTS_PS_TOY_H
#define TESTS_PS_TOY_H

#include <ps/client/worker.h>

enum {
    TOY_SERVERS = 3,
    TOY_FIRST = 32, /* their nodes */
    TOY_KEYS = 4096,
    TOY_WIDTH_MAX = 32768,
    TOY_LETTERS = 4096,
    TOY_LISTS = 64,
    TOY_SEQUENCES = 65536
};

struct toy_slot {
    uint64_t floor, above; /* bit i: floor + 1 + i */
};

struct toy_list {
    uint64_t signature;
    size_t count;
    uint64_t *keys;
};

/* A copy of a message on its way, and the addresses of its lent parts. */
struct toy_mail {
    bool used;
    bool from_server; /* a reply */
    unsigned server;
    size_t bytes[GW__MESSENGER_PARTS];
    void *parts[GW__MESSENGER_PARTS];
    const void *lent_data;
    void (*back)(void *context);
    void *context;
};

struct toy {
    struct gw_rng rng;
    uint64_t now_ns;
    unsigned loss, twice; /* of 100 */
    bool halves;          /* values in replies are f16 */
    bool forgetful;       /* key lists are forgotten at random */
    struct gw__routes truth;
    struct gw__worker *worker;
    float *values; /* [key * width + column], of table 0 */
    struct toy_slot slots[GW_PS_SLOTS_MAX];
    struct toy_list lists[TOY_SERVERS][TOY_LISTS];
    unsigned mail_count;
    struct toy_mail mail[TOY_LETTERS];
    uint64_t needed[TOY_SEQUENCES], acked[TOY_SEQUENCES]; /* slots, as bits */
    uint64_t lent, back;                                  /* messages */
    uint64_t letters, largest, applied, duplicates, bare;
    bool lied; /* the worker had wrong answers: ignore its low-water mark */
    unsigned saves;
    uint32_t nans;               /* in the last message */
    enum gw_err refuse_for_good; /* not GW_OK: refuses all pushes */
};
extern struct toy toy;

/* Table 0 of that width in `slots` slots. */
void toy_begin(uint64_t seed, unsigned slots, uint32_t width,
               const struct gw__worker_config *config);
void toy_end(void);
/* One step: a message arrives, or time passes. */
void toy_step(void);
/* Runs until the request has ended. */
enum gw_err toy_wait(uint64_t request);
/* Moves some slots to another primary without notice to the worker. */
void toy_move(unsigned slots);

#endif
