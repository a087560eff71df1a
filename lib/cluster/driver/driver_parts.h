/* SPDX-License-Identifier: MIT
 *
 * The driver from inside.
 *
 *   driver.c          the thread: its life and its turns
 *   driver_ask.c      what others may ask, from any thread
 *   driver_queue.c    how that comes to the thread
 *   driver_actions.c  what a machine's step does to the world
 *   driver_look.c     looks at the processes of other nodes
 *   driver_describe.c what it knows, for people
 */
#ifndef GW__DRIVER_PARTS_H
#define GW__DRIVER_PARTS_H

#include "driver.h"

#include <base/disk.h>
#include <wire/process_look.h>

#include <pthread.h>

/* ---- driver_queue.c ---- */

enum { GW__DRIVER_QUEUE_BYTES = 4 << 20 };

enum gw__wish_kind {
    GW__WISH_ASK,
    GW__WISH_SEND,
    GW__WISH_DIED,
    GW__WISH_KNOW,
    GW__WISH_DESCRIBE
};

/* Its bytes lie behind it, filled up to a multiple of 8. */
struct gw__wish {
    uint32_t kind;
    uint32_t node;
    uint64_t incarnation;
    uint64_t bytes;
};

struct gw__wishes {
    unsigned char *bytes; /* GW__DRIVER_QUEUE_BYTES */
    size_t used, done;
};

struct gw__driver_queue {
    bool ready; /* there is a lock */
    int bell;   /* eventfd: readable while there is something to look at */
    pthread_mutex_t lock; /* of these: */
    bool rung, closed;
    struct gw__wishes filling;
    struct gw__wishes working; /* the thread's own */
};

GW_MUST_CHECK enum gw_err gw__driver_queue_init(struct gw__driver_queue *queue,
                                                struct gw_error *why);
void gw__driver_queue_fini(struct gw__driver_queue *queue);
/* From any thread, as the next. GW_ENOMEM: full; GW_ECLOSED. */
enum gw_err gw__driver_queue_add(struct gw__driver_queue *queue,
                                 const struct gw__wish *wish, const void *data);
void gw__driver_queue_close(struct gw__driver_queue *queue);
/* The next wish, valid until the next call; NULL when there is none now. Then
 * *over tells whether none will come any more. */
const struct gw__wish *gw__driver_queue_next(struct gw__driver_queue *queue,
                                             bool *over);

/* ---- the driver ---- */

struct gw__driver {
    const struct gw__machine_kind *kind;
    void *state;
    struct gw__driver_config config;
    void *start; /* a copy */
    struct gw__control_channel *mesh;
    struct gw__driver_queue queue;
    pthread_t thread;

    /* The thread's. */
    uint64_t timers[GW__TIMERS_MAX]; /* 0: not set */
    struct gw__disk disk;
    bool starting, failed;
    uint64_t turned_ns; /* when on_turn ran last */
    struct gw__driver_looks {
        uint64_t wanted; /* nodes */
        struct gw__process_watch_look self;
        struct {
            uint64_t incarnation;
            struct gw__process_watch_look look;
        } of[GW__NODES_MAX];
    } * looks;

    struct gw__driver *next; /* of this process's */

    pthread_mutex_t lock; /* of these: */
    struct gw_error error;
    pthread_cond_t told;
    uint64_t descriptions; /* ever told */
    struct gw__description described;
};

/* One step of the machine; `input->now_ns` is filled in. */
void gw__driver_step(struct gw__driver *driver, struct gw__input *input);
/* Does the looks that were asked for; whether there were any. */
bool gw__driver_look(struct gw__driver *driver);
/* The first failure counts. */
void gw__driver_fail(struct gw__driver *driver, enum gw_err code,
                     const char *format, ...) GW_PRINTF(3, 4);

/* ---- driver_describe.c ---- */

/* Among this process's drivers, while its thread runs. */
void gw__driver_enlist(struct gw__driver *driver);
void gw__driver_delist(struct gw__driver *driver);
/* The thread itself: writes `described`. */
void gw__driver_describe(struct gw__driver *driver);

#endif
