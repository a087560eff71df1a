/* SPDX-License-Identifier: MIT
 *
 * For tests of real controllers: up to three in this process, on loopback and
 * on disk, and somebody on a driver of his own who asks them, through many
 * clients at a time.
 */
#ifndef TESTS_COUNCIL_H
#define TESTS_COUNCIL_H

#include "logs.h"

#include <cluster/controller/controller.h>
#include <cluster/driver/driver.h>
#include <cluster/member/client.h>

enum {
    COUNCIL_NODE = 60, /* and up: the controllers */
    COUNCIL_ASKER = 50,
    COUNCIL_CLIENTS = 16,
    COUNCIL_ANSWERS = 4096
};

/* What a controller has applied. */
struct sight {
    uint64_t index, digest;
    struct gw__view view;
    uint32_t slots;
    unsigned observers; /* active */
    unsigned entries;   /* since it was opened; a snapshot is one */
    uint64_t requests;  /* of the asker, by the registry's memory */
    unsigned lowered;   /* indices that were not higher than the one before */
};

struct chair {
    struct gw__controller *controller;
    unsigned life;
    pthread_mutex_t lock; /* of these: */
    unsigned leader;      /* a node */
    struct sight sight;
};

struct council {
    struct logs ground; /* directory and addresses */
    unsigned count;
    struct chair chairs[LOGS];
    struct gw_sink *events; /* of controller 0; NULL: none */
    struct gw__driver *asker;
    pthread_mutex_t lock; /* of these: */
    uint64_t answer_count;
    unsigned answered[COUNCIL_ANSWERS]; /* [tag]: how often */
    struct gw__answer answers[COUNCIL_ANSWERS];
};

/* Static storage. All run, and one leads. */
void council_begin(struct council *council, unsigned count);
void council_end(struct council *council);
void council_open(struct council *council, unsigned i);
void council_close(struct council *council, unsigned i);
struct sight council_sight(struct council *council, unsigned i);
/* The one that the others take for the leader. */
unsigned council_leader(struct council *council);

/* Request `tag`, by client tag % COUNCIL_CLIENTS. */
void council_ask(struct council *council, const struct gw__command *command,
                 unsigned tag);
/* Waits for it: has come once. */
struct gw__answer council_answer(struct council *council, unsigned tag);
/* Both, with the next tag. The code must be this. */
struct gw__answer council_do(struct council *council,
                             const struct gw__command *command,
                             enum gw_err code);
/* All that are open have applied the same, at the same index, and whatever was
 * answered: its digest. */
uint64_t council_agree(struct council *council);
struct gw__process council_process(unsigned node);
/* Where it listens; until the next call. */
const char *council_endpoint(unsigned node);
/* Asker and workers 0 .. count-1 are registered, the workers admitted. */
void council_workers(struct council *council, unsigned count);

#endif
