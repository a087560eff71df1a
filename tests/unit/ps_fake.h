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
#ifndef TESTS_PS_FAKE_H
#define TESTS_PS_FAKE_H

#include <ps/client/worker.h>

enum {
    FAKE_SERVERS = 3,
    FAKE_FIRST = 32, /* their nodes */
    FAKE_KEYS = 4096,
    FAKE_WIDTH_MAX = 32768,
    FAKE_MESSAGES = 4096,
    FAKE_LISTS = 64,
    FAKE_SEQUENCES = 65536
};

struct fake_slot {
    uint64_t low_watermark, above; /* bit i: floor + 1 + i */
};

struct fake_list {
    uint64_t signature;
    size_t count;
    uint64_t *keys;
};

/* A copy of a message on its way, and the addresses of its lent parts. */
struct fake_mail {
    bool used;
    bool from_server; /* a reply */
    unsigned server;
    size_t bytes[GW__MESSENGER_PARTS];
    void *parts[GW__MESSENGER_PARTS];
    const void *borrowed_data;
    void (*back)(void *context);
    void *context;
};

struct fake {
    struct gw_rng rng;
    uint64_t now_ns;
    unsigned loss, twice; /* of 100 */
    bool halves;          /* values in replies are f16 */
    bool forgetful;       /* key lists are forgotten at random */
    struct gw__routes truth;
    struct gw__worker *worker;
    float *values; /* [key * width + column], of table 0 */
    struct fake_slot slots[GW_PS_SLOTS_MAX];
    struct fake_list lists[FAKE_SERVERS][FAKE_LISTS];
    unsigned mail_count;
    struct fake_mail mail[FAKE_MESSAGES];
    uint64_t needed[FAKE_SEQUENCES], acked[FAKE_SEQUENCES]; /* slots, as bits */
    uint64_t borrowed, back;                                /* messages */
    uint64_t messages, largest, applied, duplicates, bare;
    bool lied; /* the worker had wrong answers: ignore its low-water mark */
    unsigned saves;
    uint32_t nans;               /* in the last message */
    enum gw_err refuse_for_good; /* not GW_OK: refuses all pushes */
};
extern struct fake fake;

/* Table 0 of that width in `slots` slots. */
void fake_begin(uint64_t seed, unsigned slots, uint32_t width,
                const struct gw__worker_config *config);
void fake_end(void);
/* One step: a message arrives, or time passes. */
void fake_step(void);
/* Runs until the request has ended. */
enum gw_err fake_wait(uint64_t request);
/* Moves some slots to another primary without notice to the worker. */
void fake_move(unsigned slots);

#endif
