/* SPDX-License-Identifier: MIT
 *
 * The toy machine of driver_toy.h, and its drivers.
 */
#include "driver_toy.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 5, KEY = 1 };

/* ---- the machine ---- */

struct toy {
    uint64_t due_ns[GW__TIMERS_MAX];
    bool stormy[GW__TIMERS_MAX];
    uint64_t last_ns;
};

static void tell(const struct gw__actions *act, const char *format, ...)
    GW_PRINTF(2, 3);

static void tell(const struct gw__actions *act, const char *format, ...)
{
    char line[TOY_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    act->notify(act->driver, line, strlen(line));
}

static void set(struct toy *node, unsigned timer, uint64_t at_ns,
                const struct gw__actions *act)
{
    if (timer < GW__TIMERS_MAX)
        node->due_ns[timer] = at_ns;
    act->set_timer(act->driver, timer, at_ns);
}

static const char *kept(const struct gw__actions *act, unsigned key)
{
    size_t bytes;
    const char *text = act->load(act->driver, key, &bytes);
    return text ? text : "nothing";
}

static void start(const struct gw__input *input, const struct gw__actions *act)
{
    tell(act, "start %u/%u seed %u, %.*s, kept %s", input->from,
         (unsigned)input->incarnation, (unsigned)input->seed, (int)input->bytes,
         (const char *)input->data, kept(act, KEY));
    act->persist(act->driver, KEY, "a", 2);
    act->persist(act->driver, KEY, "something", 10);
    tell(act, "then %s", kept(act, KEY));
}

static const char *signals(void)
{
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    return sigismember(&set, SIGINT) && sigismember(&set, SIGTERM) &&
                   sigismember(&set, SIGCHLD) && sigismember(&set, SIGUSR1)
               ? "blocked"
               : "not blocked";
}

/* Orders that break the contract of machines, or may do so. */
static void misbehave(const char *order, const char *verb, unsigned number,
                      const struct gw__actions *act)
{
    static const unsigned char zeros[GW__MESSAGE_MAX + 1];
    unsigned bytes = 0;
    if (strcmp(verb, "persist") == 0)
        act->persist(act->driver, number, order, strlen(order) + 1);
    else if (strcmp(verb, "load") == 0)
        tell(act, "kept %s", kept(act, number));
    else if (strcmp(verb, "foreign") == 0)
        act->send(act->driver, 0, "\200", 1);
    else if (sscanf(order, "long %*u %u", &bytes) == 1)
        act->send(act->driver, number, zeros, bytes);
    else
        tell(act, "what is \"%s\"?", order);
}

static void obey(struct toy *node, const char *order, uint64_t now_ns,
                 const struct gw__actions *act)
{
    char verb[16] = "", rest[TOY_LINE] = "";
    unsigned number = 0;
    sscanf(order, " %15s %u %119[^\n]", verb, &number, rest);
    if (strcmp(verb, "say") == 0)
        tell(act, "%s", strstr(order, "say ") + 4);
    else if (strcmp(verb, "send") == 0)
        act->send(act->driver, number, rest, strlen(rest));
    else if (strcmp(verb, "set") == 0)
        set(node, number, now_ns + strtoull(rest, NULL, 10) * 1000000, act);
    else if (strcmp(verb, "cancel") == 0)
        set(node, number, 0, act);
    else if (strcmp(verb, "storm") == 0) {
        node->stormy[number % GW__TIMERS_MAX] = true;
        set(node, number, now_ns, act);
    } else if (strcmp(verb, "signals") == 0)
        tell(act, "signals are %s", signals());
    else
        misbehave(order, verb, number, act);
}

static void asked(struct toy *node, const struct gw__input *input,
                  const struct gw__actions *act)
{
    char orders[1024], *rest = NULL;
    snprintf(orders, sizeof orders, "%.*s", (int)input->bytes,
             (const char *)input->data);
    for (char *order = strtok_r(orders, ";", &rest); order;
         order = strtok_r(NULL, ";", &rest))
        obey(node, order, input->now_ns, act);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *act)
{
    struct toy *node = state;
    if (input->now_ns < node->last_ns)
        tell(act, "time went back");
    node->last_ns = input->now_ns;
    if (input->kind == GW__START)
        start(input, act);
    else if (input->kind == GW__REQUESTED)
        asked(node, input, act);
    else if (input->kind == GW__MESSAGE)
        tell(act, "from %u/%u: %.*s", input->from, (unsigned)input->incarnation,
             (int)input->bytes, (const char *)input->data);
    else if (input->kind == GW__DIED)
        tell(act, "died %u/%u", input->from, (unsigned)input->incarnation);
    else if (node->stormy[input->timer])
        set(node, input->timer, input->now_ns, act);
    else
        tell(act, "timer %u%s", input->timer,
             input->now_ns < node->due_ns[input->timer] ? ", too early" : "");
}

const struct gw__machine_kind toy_machine = {"toy", sizeof(struct toy), step};

/* ---- its driver ---- */

void toy_note(struct toy_node *toy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&toy->lock);
    while (toy->held)
        pthread_cond_wait(&toy->changed, &toy->lock);
    if (toy->count < TOY_LINES)
        vsnprintf(toy->lines[toy->count++], TOY_LINE, format, args);
    pthread_cond_broadcast(&toy->changed);
    pthread_mutex_unlock(&toy->lock);
    va_end(args);
}

static void on_tell(void *context, const void *data, size_t bytes)
{
    toy_note(context, "%.*s", (int)bytes, (const char *)data);
}

static void on_message(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes)
{
    const unsigned char *first = data;
    toy_note(context, "foreign from %u/%u.%u: %u+%.*s", from,
             (unsigned)incarnation.high, (unsigned)incarnation.low, *first,
             (int)bytes - 1, (const char *)data + 1);
}

struct gw__driver_config toy_config(struct toy_node *toy, unsigned node)
{
    static char endpoints[8][GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    char *endpoint = endpoints[node % 8];
    snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX,
             "ipc://@gw-driver-%ld-%u", (long)getpid(), node);
    return (struct gw__driver_config){.kind = &toy_machine,
                                      .channel = {.node = node,
                                                  .incarnation_high = node,
                                                  .incarnation_low = 7,
                                                  .endpoint = endpoint},
                                      .seed = 5,
                                      .start = "abc",
                                      .start_bytes = 3,
                                      .context = toy,
                                      .on_notify = on_tell,
                                      .on_message = on_message};
}

void toy_init(struct toy_node *toy)
{
    memset(toy, 0, sizeof *toy);
    pthread_mutex_init(&toy->lock, NULL);
    pthread_cond_init(&toy->changed, NULL);
}

void toy_start(struct toy_node *toy, const struct gw__driver_config *config)
{
    struct gw_error why;
    toy->node = config->channel.node;
    enum gw_err err = gw__driver_start(config, &toy->driver, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
}

void toy_open(struct toy_node *toy, unsigned node)
{
    toy_init(toy);
    struct gw__driver_config config = toy_config(toy, node);
    toy_start(toy, &config);
}

void toy_close(struct toy_node *toy)
{
    gw__driver_stop(&toy->driver);
    pthread_cond_destroy(&toy->changed);
    pthread_mutex_destroy(&toy->lock);
}

void toy_know(struct toy_node *a, const struct toy_node *b)
{
    ck_assert_int_eq(
        gw__driver_know(a->driver, b->node, gw__driver_endpoint(b->driver)),
        GW_OK);
}

void sim_node_ask(struct toy_node *toy, const char *orders)
{
    ck_assert_int_eq(gw__driver_request(toy->driver, orders, strlen(orders)),
                     GW_OK);
}

/* False: no line came in time. */
static bool next_line(struct toy_node *toy, char line[TOY_LINE])
{
    struct timespec until;
    int timed_out = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&toy->lock);
    while (toy->read == toy->count && !timed_out)
        timed_out = pthread_cond_timedwait(&toy->changed, &toy->lock, &until);
    bool came = toy->read < toy->count;
    if (came)
        memcpy(line, toy->lines[toy->read++], TOY_LINE);
    pthread_mutex_unlock(&toy->lock);
    return came;
}

void toy_expect(struct toy_node *toy, const char *due)
{
    char line[TOY_LINE];
    ck_assert_msg(next_line(toy, line), "nothing instead of \"%s\"", due);
    ck_assert_str_eq(line, due);
}

void toy_await(struct toy_node *toy, const char *due)
{
    char line[TOY_LINE];
    do
        ck_assert_msg(next_line(toy, line), "\"%s\" did not connect", due);
    while (strcmp(line, due) != 0);
}

void toy_hold(struct toy_node *toy, bool held)
{
    pthread_mutex_lock(&toy->lock);
    toy->held = held;
    pthread_cond_broadcast(&toy->changed);
    pthread_mutex_unlock(&toy->lock);
}
