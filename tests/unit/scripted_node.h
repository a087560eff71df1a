/* SPDX-License-Identifier: MIT
 *
 * A machine that carries out the orders it receives and reports its inputs, and
 * drivers for it that record its reports.
 *
 * Orders are text, several of them separated by ";":
 *     say TEXT          reports TEXT
 *     send NODE TEXT    sends TEXT
 *     set TIMER MS      from now
 *     cancel TIMER
 *     storm TIMER       sets a timer for now, and again whenever it fires
 *     persist KEY TEXT
 *     load KEY
 *     long NODE BYTES   sends that many zeros
 *     foreign           sends a message that no machine sends
 *     signals           reports whether its thread blocks signals
 * Reports are lines such as "timer 3", "from 1/7: hello", "died 2/9".
 */
#ifndef SCRIPTED_NODE_H
#define SCRIPTED_NODE_H

#include <cluster/driver/driver.h>

#include <check.h>
#include <pthread.h>

enum { SCRIPTED_LINES = 4096, SCRIPTED_LINE = 120 };

/* A driver and its reports; the driver's thread writes, the test's reads. */
struct scripted_node {
    struct gw__driver *driver;
    unsigned node;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;  /* the driver's thread waits in its next report */
    bool waits; /* ... and is there */
    unsigned count, read;
    char lines[SCRIPTED_LINES][SCRIPTED_LINE];
    unsigned turns;
};

extern const struct gw__machine_kind scripted_machine;

/* The default configuration of `node`: over ipc, as incarnation (node, 7). */
struct gw__driver_config scripted_config(struct scripted_node *scripted,
                                         unsigned node);
void scripted_init(struct scripted_node *scripted);
void scripted_start(struct scripted_node *scripted,
                    const struct gw__driver_config *config);
/* scripted_init and scripted_start with the default configuration. */
void scripted_open(struct scripted_node *scripted, unsigned node);
/* Stops it if it runs. */
void scripted_close(struct scripted_node *scripted);
/* Gives `a` the address of `b`. */
void scripted_know(struct scripted_node *a, const struct scripted_node *b);

void scripted_run(struct scripted_node *scripted, const char *commands);
/* The next report, within seconds, is `line`. */
void scripted_expect(struct scripted_node *scripted, const char *line);
/* Reads reports up to that line. */
void scripted_await(struct scripted_node *scripted, const char *line);
/* Adds a line to the reports. */
void scripted_report(struct scripted_node *scripted, const char *format, ...)
    GW_PRINTF(2, 3);
/* While held, the driver's thread blocks in its next report. */
void scripted_hold(struct scripted_node *scripted, bool held);
/* Holds it, and returns when its thread blocks: in the report "held". */
void scripted_block(struct scripted_node *scripted);

#endif
