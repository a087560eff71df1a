/* SPDX-License-Identifier: MIT
 *
 * A machine that does as it is told and tells what happens to it, and drivers
 * for it that write down what they hear.
 *
 * It is asked in words, several orders with ";" between them:
 *     say TEXT          tells TEXT
 *     send NODE TEXT    sends TEXT
 *     set TIMER MS      from now
 *     cancel TIMER
 *     storm TIMER       sets a timer for now, and again whenever it fires
 *     persist KEY TEXT
 *     load KEY
 *     long NODE BYTES   sends that many zeros
 *     foreign           sends what is not a machine's
 *     signals           tells whether its thread blocks them
 * and tells lines such as "timer 3", "from 1/7: hello", "died 2/9".
 */
#ifndef DRIVER_TOY_H
#define DRIVER_TOY_H

#include <cluster/driver/driver.h>

#include <check.h>
#include <pthread.h>

enum { TOY_LINES = 4096, TOY_LINE = 120 };

/* A driver and what it told; one thread writes, the test's reads. */
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

/* How `node` is driven by default: over ipc, as incarnation (node, 7). */
struct gw__driver_config toy_config(struct toy_node *toy, unsigned node);
void toy_init(struct toy_node *toy);
void toy_start(struct toy_node *toy, const struct gw__driver_config *config);
/* toy_init and toy_start by default. */
void toy_open(struct toy_node *toy, unsigned node);
/* Stops it if it runs. */
void toy_close(struct toy_node *toy);
/* `a` knows where `b` listens. */
void toy_know(struct toy_node *a, const struct toy_node *b);

void toy_ask(struct toy_node *toy, const char *orders);
/* The next line that was told, within seconds, is `line`. */
void toy_expect(struct toy_node *toy, const char *line);
/* Reads on until that line. */
void toy_await(struct toy_node *toy, const char *line);
/* Adds a line, as if it had been told. */
void toy_note(struct toy_node *toy, const char *format, ...) GW_PRINTF(2, 3);
/* While held, the driver's thread stays in the next line that it tells. */
void toy_hold(struct toy_node *toy, bool held);

#endif
