/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the driver.
 *
 *   driver.c          the thread, its turns, start and end
 *   driver_requests.c requests from any thread
 *   driver_queue.c    the queue of these requests
 *   driver_actions.c  executes the actions of a machine's step
 *   driver_inspect.c  looks at the processes of other nodes
 *   driver_describe.c describes the state for people
 */
#ifndef GW__DRIVER_PARTS_H
#define GW__DRIVER_PARTS_H

#include "driver.h"

#include <base/disk.h>
#include <wire/process_inspect.h>

#include <pthread.h>

/* ---- driver_queue.c ---- */

enum { GW__DRIVER_QUEUE_BYTES = 4 << 20 };

enum gw__wish_kind {
    GW__WISH_REQUEST,
    GW__WISH_SEND,
    GW__WISH_DIED,
    GW__WISH_KNOW,
    GW__WISH_DESCRIBE
};

/* Its bytes follow it, padded to a multiple of 8. */
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
    bool ready;           /* the lock is initialised */
    int bell;             /* eventfd: readable while there are wishes */
    pthread_mutex_t lock; /* guards the following: */
    bool rung, closed;
    struct gw__wishes filling;
    struct gw__wishes working; /* the thread's own */
};

GW_MUST_CHECK enum gw_err gw__driver_queue_init(struct gw__driver_queue *queue,
                                                struct gw_error *why);
void gw__driver_queue_fini(struct gw__driver_queue *queue);
/* Appends a wish, from any thread. GW_ENOMEM: full; GW_ECLOSED. */
enum gw_err gw__driver_queue_add(struct gw__driver_queue *queue,
                                 const struct gw__wish *wish, const void *data);
void gw__driver_queue_close(struct gw__driver_queue *queue);
/* The next wish, valid until the next call; NULL if there is none now. Then
 * *over is true if none will follow. */
const struct gw__wish *gw__driver_queue_next(struct gw__driver_queue *queue,
                                             bool *over);

/* ---- the driver ---- */

struct gw__driver {
    const struct gw__machine_kind *kind;
    void *state;
    struct gw__driver_config config;
    void *start; /* a copy */
    struct gw__control_channel *channel;
    struct gw__driver_queue queue;
    pthread_t thread;

    /* Used by the thread only. */
    uint64_t timers[GW__TIMERS_MAX]; /* 0: not set */
    struct gw__disk disk;
    bool starting, failed;
    uint64_t turn_due_ns; /* time of the next on_turn at the latest */
    struct gw__driver_inspections {
        struct gw_nodes wanted;
        struct gw__process_inspection self;
        struct {
            uint64_t incarnation;
            struct gw__process_inspection previous;
        } of[GW__NODES_MAX];
    } * inspections;

    struct gw__driver *next; /* in the list of this process */

    pthread_mutex_t lock; /* guards the following: */
    struct gw_error error;
    pthread_cond_t notified;
    uint64_t descriptions; /* in total */
    struct gw__description described;
};

/* Runs one step of the machine; fills in `input->now_ns`. */
void gw__driver_step(struct gw__driver *driver, struct gw__input *input);
/* Makes the requested looks; returns whether there were any. */
bool gw__driver_inspect(struct gw__driver *driver);
/* Records a failure; the first one counts. */
void gw__driver_fail(struct gw__driver *driver, enum gw_err code,
                     const char *format, ...) GW_PRINTF(3, 4);

/* ---- driver_describe.c ---- */

/* Adds it to the list of this process's drivers while its thread runs. */
void gw__driver_enlist(struct gw__driver *driver);
void gw__driver_delist(struct gw__driver *driver);
/* Called by the thread itself: writes `described`. */
void gw__driver_describe(struct gw__driver *driver);

#endif
