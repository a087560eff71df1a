/* SPDX-License-Identifier: MIT
 *
 * Shared by all processes of pskills.h: addresses, keys, and the end after an
 * error, at which the parent prints its log.
 */
#include "pskills.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct board *board;
void (*at_give_up)(void);

void nap_us(uint64_t us)
{
    struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

uint64_t now_plus_ms(uint64_t ms)
{
    return gw_now_ns() + ms * 1000000;
}

/* ---- the log ---- */

enum { DIARY_LINES = 512, DIARY_SHOWN = 160 };
static struct {
    uint64_t time_ns;
    char text[TEXT_ROOM];
} lines[DIARY_LINES];
static _Atomic unsigned line_count;

void diary(const char *format, ...)
{
    unsigned at = atomic_fetch_add(&line_count, 1) % DIARY_LINES;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lines[at].text, sizeof lines[at].text, format, arguments);
    va_end(arguments);
    lines[at].time_ns = gw_now_ns();
}

static void print_diary(void)
{
    unsigned count = atomic_load(&line_count), from = 0;
    if (count > DIARY_SHOWN)
        from = count - DIARY_SHOWN;
    for (unsigned i = from; i < count; i++)
        fprintf(stderr, "%14.3f %s\n",
                (double)lines[i % DIARY_LINES].time_ns / 1e6,
                lines[i % DIARY_LINES].text);
}

void give_up(const char *format, ...)
{
    char text[TEXT_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "pskills: %s\n", text);
    memcpy(board->wrong, text, sizeof board->wrong);
    print_diary();
    if (at_give_up)
        at_give_up();
    _exit(1);
}

void endpoint_of(unsigned node, char out[ENDPOINT_ROOM])
{
    snprintf(out, ENDPOINT_ROOM, "ipc://@gradwire-%llx-%u",
             (unsigned long long)board->token, node);
}

void addresses_of(unsigned node, struct addresses *addresses)
{
    endpoint_of(node, addresses->own);
    for (unsigned c = 0; c < CONTROLLERS; c++)
        endpoint_of(FIRST_CONTROLLER + c, addresses->controllers[c]);
}

static const struct gw_ps_table_config counters = {
    .name = "counters", .width = 1, .updater = GW_PS_ADD};

static const struct gw_ps_table_config item_rows = {
    .name = "items", .width = 1, .updater = GW_PS_ADD, .group = ITEM_GROUP};

uint64_t key_of(unsigned life, unsigned k)
{
    struct gw__routes routes = {.slot_count = SLOTS};
    uint64_t key = (uint64_t)life << 32 | (uint64_t)k << 16;
    while (gw__route_slot(&routes, &counters, key) != k % SLOTS)
        key++;
    return key;
}

enum gw_err open_counters(struct gw_ps *ps, unsigned *table,
                          struct gw_error *why)
{
    struct gw_ps_table_config config = counters;
    return gw_ps_table(ps, &config, table, why);
}

enum gw_err open_items(struct gw_ps *ps, unsigned *table, struct gw_error *why)
{
    static const struct gw_ps_mode mode = {.kind = GW_PS_ASP};
    static const struct gw_ps_plan plan = {.batches = UINT64_C(1) << 20,
                                           .parts = 2};
    struct gw_ps_table_config config = item_rows;
    enum gw_err err = gw_ps_table(ps, &config, table, why);
    return err ? err : gw_ps_plan(ps, ITEM_GROUP, &mode, &plan, why);
}

struct gw_ps_config client_config(unsigned node, struct addresses *addresses)
{
    struct gw_ps_config config = {.node = node,
                                  .endpoint = addresses->own,
                                  .token = board->token,
                                  .controller_count = CONTROLLERS,
                                  .wire = board->wire,
                                  .aggregate = board->aggregate,
                                  .aggregator_node = AGGREGATOR,
                                  .seed = board->seed};
    addresses_of(node, addresses);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        config.controllers[c] = FIRST_CONTROLLER + c;
        config.controller_endpoints[c] = addresses->controllers[c];
    }
    return config;
}

void draw_random(void *out, size_t bytes)
{
    if (getrandom(out, bytes, 0) != (ssize_t)bytes)
        give_up("no random numbers");
}
