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
#ifndef DRIVER_TOY_H
#define DRIVER_TOY_H

#include <cluster/driver/driver.h>

#include <check.h>
#include <pthread.h>

enum { TOY_LINES = 4096, TOY_LINE = 120 };

/* A driver and its reports; the driver's thread writes, the test's reads. */
struct toy_node {
    struct gw__driver *driver;
    unsigned node;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held; /* the driver's thread waits in on_tell */
    unsigned count, read;
    char lines[TOY_LINES][TOY_LINE];
    unsigned turns;
};

extern const struct gw__machine_kind toy_machine;

/* The default configuration of `node`: over ipc, as incarnation (node, 7). */
struct gw__driver_config toy_config(struct toy_node *toy, unsigned node);
void toy_init(struct toy_node *toy);
void toy_start(struct toy_node *toy, const struct gw__driver_config *config);
/* toy_init and toy_start with the default configuration. */
void toy_open(struct toy_node *toy, unsigned node);
/* Stops it if it runs. */
void toy_close(struct toy_node *toy);
/* Gives `a` the address of `b`. */
void toy_know(struct toy_node *a, const struct toy_node *b);

void sim_node_ask(struct toy_node *toy, const char *orders);
/* The next report, within seconds, is `line`. */
void toy_expect(struct toy_node *toy, const char *line);
/* Reads reports up to that line. */
void toy_await(struct toy_node *toy, const char *line);
/* Adds a line to the reports. */
void toy_note(struct toy_node *toy, const char *format, ...) GW_PRINTF(2, 3);
/* While held, the driver's thread blocks in its next report. */
void toy_hold(struct toy_node *toy, bool held);

#endif
