/* SPDX-License-Identifier: MIT
 *
 * For tests of the controllers' log: up to three of them on loopback, in a
 * directory of their own, and what they have told.
 */
#ifndef TESTS_LOGS_H
#define TESTS_LOGS_H

#include "key_file.h"

#include <cluster/raft/raft_log.h>
#include <wire/emulation/rules.h>

#include <check.h>
#include <pthread.h>

enum { LOGS = 3, LOG_ENTRIES = 8192, LOGS_TOKEN = 4712 };

/* What a log has told. */
struct log_sight {
    unsigned leader; /* an index, or count */
    uint64_t index;  /* of the newest entry */
    unsigned gaps;   /* entries that did not follow on the one before */
    unsigned snapshots;
    unsigned count; /* of entries since it was opened, or the last snapshot */
    uint64_t numbers[LOG_ENTRIES]; /* in them */
};

struct one_log {
    struct gw__raft_log *log;
    pthread_mutex_t lock; /* of `sight` */
    struct log_sight sight;
};

struct logs {
    char directory[64];
    unsigned count;
    bool secured; /* by this key: */
    struct key_file key;
    struct gw__rules *rules[LOGS]; /* of links to each, by index; or NULL */
    /* Between opening and running, unless NULL. */
    void (*opened)(struct gw__raft_log *log);
    char addresses[LOGS][32];
    struct one_log logs[LOGS];
};

/* Directory and addresses; `logs` is of static storage. */
void logs_begin(struct logs *logs, unsigned count);
/* They speak behind a key of their own. */
void logs_secure(struct logs *logs);
/* Links have rules: before they are opened, and all of them. */
void logs_rule(struct logs *logs);
void logs_set_links(struct logs *logs, struct gw__rule rule);
/* Closes what is open, and removes the directory. */
void logs_end(struct logs *logs);
/* "DIRECTORY/INDEX". */
void logs_path(const struct logs *logs, unsigned i, char path[128]);
/* An address of loopback on which nobody listens now. */
void logs_free_address(char address[32]);

void logs_open(struct logs *logs, unsigned i);
void logs_close(struct logs *logs, unsigned i);
/* The one that all others which are open take for the leader, in seconds. */
unsigned logs_leader(struct logs *logs);
void logs_propose(struct logs *logs, unsigned i, uint64_t number);
/* Until log `i` has told entry `index`. */
void logs_await(struct logs *logs, unsigned i, uint64_t index);
/* A copy, valid until the next one. */
const struct log_sight *logs_sight(struct logs *logs, unsigned i);
/* It runs, and has told entry after entry. */
void logs_check(struct logs *logs, unsigned i);

#endif
