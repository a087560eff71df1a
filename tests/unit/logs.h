/* SPDX-License-Identifier: MIT
 *
 * For tests of the controllers' log: up to three logs on loopback, each with
 * its own directory, and the entries that they have reported.
 */
#ifndef TESTS_LOGS_H
#define TESTS_LOGS_H

#include "key_file.h"
#include "log_folder.h"

#include <cluster/raft/raft_log.h>
#include <wire/emulation/link_profiles.h>

#include <check.h>
#include <pthread.h>

/* An election begins after a silence of once or twice its time: long enough that
 * the leader mostly stays on a busy machine, and too short for a disk to be slow
 * (raft_log_slow.c). */
enum {
    LOGS = 3,
    LOG_ENTRIES = 8192,
    LOGS_TOKEN = 4712,
    LOGS_ELECTION_MS = 300
};

/* The reports of a log. */
struct log_sight {
    unsigned leader; /* an index, or count */
    uint64_t index;  /* of the newest entry */
    unsigned gaps;   /* entries whose index was not the next one */
    unsigned snapshots;
    unsigned count;                /* since opening or the last snapshot */
    uint64_t numbers[LOG_ENTRIES]; /* the numbers in the entries */
};

struct one_log {
    struct gw__raft_log *log;
    pthread_mutex_t lock; /* protects `sight` */
    struct log_sight sight;
};

struct logs {
    char directory[LOG_FOLDER_PATH];
    unsigned count;
    bool secured; /* links are encrypted with this key: */
    struct key_file key;
    struct gw__link_profiles
        *profiles[LOGS]; /* by index: of all links to it; or NULL */
    /* Called between opening and running, unless NULL. */
    void (*opened)(struct gw__raft_log *log);
    char addresses[LOGS][32];
    struct one_log logs[LOGS];
};

/* Prepares directories and addresses; `logs` must have static storage. */
void logs_begin(struct logs *logs, unsigned count);
/* Creates a key and secures the links with it. */
void logs_secure(struct logs *logs);
/* Gives all links a profile. Call it before the logs are opened. */
void logs_open_profiles(struct logs *logs);
void logs_set_links(struct logs *logs, struct gw_link_profile profile);
/* Closes all open logs, and removes the directory. */
void logs_end(struct logs *logs);
/* "DIRECTORY/INDEX". */
void logs_path(const struct logs *logs, unsigned i, char path[128]);
/* A loopback address on which no process listens at the moment. */
void logs_free_address(char address[32]);

void logs_open(struct logs *logs, unsigned i);
void logs_close(struct logs *logs, unsigned i);
/* The leader on which all other open logs agree; waits for seconds at most. */
unsigned logs_leader(struct logs *logs);
void logs_propose(struct logs *logs, unsigned i, uint64_t number);
/* Waits until log `i` has reported entry `index`. */
void logs_await(struct logs *logs, unsigned i, uint64_t index);
/* Proposes entries to the leader of the moment until one has reported entry
 * `index`, and returns it. A busy machine may change the leader, and the last
 * proposals are lost then. */
unsigned logs_fill(struct logs *logs, uint64_t index);
/* A copy of the log's reports, valid until the next call. */
const struct log_sight *logs_sight(struct logs *logs, unsigned i);
/* Log `i` runs, and its entries came without gaps. */
void logs_check(struct logs *logs, unsigned i);

#endif
