/* SPDX-License-Identifier: MIT
 *
 * For tests of real controllers: up to three in this process, on loopback and
 * on disk, and a driver of its own that sends them requests through many
 * clients at a time.
 */
#ifndef TESTS_COUNCIL_H
#define TESTS_COUNCIL_H

#include "logs.h"

#include <cluster/controller/controller.h>
#include <cluster/driver/driver.h>
#include <cluster/member/client.h>

enum {
    COUNCIL_NODE = 60, /* first controller; the others follow */
    COUNCIL_ASKER = 50,
    COUNCIL_CLIENTS = 16,
    COUNCIL_ANSWERS = 4096
};

/* The state that a controller has applied. */
struct sight {
    uint64_t index, digest;
    struct gw__view view;
    uint32_t slots;
    unsigned observers; /* active */
    unsigned entries;   /* since it was opened; a snapshot counts as one */
    uint64_t requests;  /* of the client, as counted by the registry */
    unsigned lowered;   /* entries whose index did not increase */
};

struct chair {
    struct gw__controller *controller;
    unsigned life;
    pthread_mutex_t lock; /* protects the fields below */
    unsigned leader;      /* node number */
    struct sight sight;
};

struct council {
    struct logs ground; /* directories and addresses */
    unsigned count;
    struct chair chairs[LOGS];
    struct gw_sink *events; /* events of controller 0; NULL: none */
    struct gw__driver *asker;
    pthread_mutex_t lock; /* protects the fields below */
    uint64_t answer_count;
    unsigned answered[COUNCIL_ANSWERS]; /* [tag]: number of answers */
    struct gw__answer answers[COUNCIL_ANSWERS];
};

/* Uses static storage. Returns when all run and one leads. */
void council_begin(struct council *council, unsigned count);
void council_end(struct council *council);
void council_open(struct council *council, unsigned i);
void council_close(struct council *council, unsigned i);
struct sight council_sight(struct council *council, unsigned i);
/* The leader on which the other controllers agree. */
unsigned council_leader(struct council *council);

/* Sends request `tag` through client tag % COUNCIL_CLIENTS. */
void council_request(struct council *council, const struct gw__command *command,
                     unsigned tag);
/* Waits for the answer. It must have come exactly once. */
struct gw__answer council_answer(struct council *council, unsigned tag);
/* Request and answer with the next tag. The answer must have this code. */
struct gw__answer council_do(struct council *council,
                             const struct gw__command *command,
                             enum gw_err code);
/* Checks that all open controllers have applied the same commands up to the
 * same index, and every command that was answered. Returns the digest. */
uint64_t council_agree(struct council *council);
struct gw__process council_process(unsigned node);
/* The address where the controller listens; valid until the next call. */
const char *council_endpoint(unsigned node);
/* Registers the client and workers 0 .. count-1, and admits the workers. */
void council_workers(struct council *council, unsigned count);

#endif
