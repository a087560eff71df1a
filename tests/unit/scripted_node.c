/* SPDX-License-Identifier: MIT
 *
 * The scripted machine of scripted_node.h, and its drivers.
 */
#include "scripted_node.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 5, KEY = 1 };

/* ---- the machine ---- */

struct script_state {
    uint64_t due_ns[GW__TIMERS_MAX];
    bool stormy[GW__TIMERS_MAX];
    uint64_t last_ns;
};

static void notify(const struct gw__actions *act, const char *format, ...)
    GW_PRINTF(2, 3);

static void notify(const struct gw__actions *act, const char *format, ...)
{
    char line[SCRIPTED_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    act->notify(act->driver, line, strlen(line));
}

static void set(struct script_state *node, unsigned timer, uint64_t at_ns,
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
    notify(act, "start %u/%u seed %u, %.*s, kept %s", input->from,
           (unsigned)input->incarnation, (unsigned)input->seed,
           (int)input->bytes, (const char *)input->data, kept(act, KEY));
    act->persist(act->driver, KEY, "a", 2);
    act->persist(act->driver, KEY, "something", 10);
    notify(act, "then %s", kept(act, KEY));
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
        notify(act, "kept %s", kept(act, number));
    else if (strcmp(verb, "foreign") == 0)
        act->send(act->driver, 0, "\200", 1);
    else if (sscanf(order, "long %*u %u", &bytes) == 1)
        act->send(act->driver, number, zeros, bytes);
    else
        notify(act, "what is \"%s\"?", order);
}

static void obey(struct script_state *node, const char *order, uint64_t now_ns,
                 const struct gw__actions *act)
{
    char verb[16] = "", rest[SCRIPTED_LINE] = "";
    unsigned number = 0;
    sscanf(order, " %15s %u %119[^\n]", verb, &number, rest);
    if (strcmp(verb, "say") == 0)
        notify(act, "%s", strstr(order, "say ") + 4);
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
        notify(act, "signals are %s", signals());
    else
        misbehave(order, verb, number, act);
}

static void run_commands(struct script_state *node,
                         const struct gw__input *input,
                         const struct gw__actions *act)
{
    char commands[1024], *rest = NULL;
    snprintf(commands, sizeof commands, "%.*s", (int)input->bytes,
             (const char *)input->data);
    for (char *order = strtok_r(commands, ";", &rest); order;
         order = strtok_r(NULL, ";", &rest))
        obey(node, order, input->now_ns, act);
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *act)
{
    struct script_state *node = state;
    if (input->now_ns < node->last_ns)
        notify(act, "time went back");
    node->last_ns = input->now_ns;
    if (input->kind == GW__START)
        start(input, act);
    else if (input->kind == GW__REQUESTED)
        run_commands(node, input, act);
    else if (input->kind == GW__MESSAGE)
        notify(act, "from %u/%u: %.*s", input->from,
               (unsigned)input->incarnation, (int)input->bytes,
               (const char *)input->data);
    else if (input->kind == GW__DIED)
        notify(act, "died %u/%u", input->from, (unsigned)input->incarnation);
    else if (node->stormy[input->timer])
        set(node, input->timer, input->now_ns, act);
    else
        notify(act, "timer %u%s", input->timer,
               input->now_ns < node->due_ns[input->timer] ? ", too early" : "");
}

const struct gw__machine_kind scripted_machine = {
    "toy", sizeof(struct script_state), step, NULL};

/* ---- its driver ---- */

void scripted_report(struct scripted_node *scripted, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&scripted->lock);
    while (scripted->held) {
        scripted->waits = true;
        pthread_cond_broadcast(&scripted->changed);
        pthread_cond_wait(&scripted->changed, &scripted->lock);
    }
    scripted->waits = false;
    if (scripted->count < SCRIPTED_LINES)
        vsnprintf(scripted->lines[scripted->count++], SCRIPTED_LINE, format,
                  args);
    pthread_cond_broadcast(&scripted->changed);
    pthread_mutex_unlock(&scripted->lock);
    va_end(args);
}

static void on_notify(void *context, const void *data, size_t bytes)
{
    scripted_report(context, "%.*s", (int)bytes, (const char *)data);
}

static void on_message(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes)
{
    const unsigned char *first = data;
    scripted_report(context, "foreign from %u/%u.%u: %u+%.*s", from,
                    (unsigned)incarnation.high, (unsigned)incarnation.low,
                    *first, (int)bytes - 1, (const char *)data + 1);
}

struct gw__driver_config scripted_config(struct scripted_node *scripted,
                                         unsigned node)
{
    static char endpoints[8][GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    char *endpoint = endpoints[node % 8];
    snprintf(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX,
             "ipc://@gw-driver-%ld-%u", (long)getpid(), node);
    return (struct gw__driver_config){.kind = &scripted_machine,
                                      .channel = {.node = node,
                                                  .incarnation_high = node,
                                                  .incarnation_low = 7,
                                                  .endpoint = endpoint},
                                      .seed = 5,
                                      .start = "abc",
                                      .start_bytes = 3,
                                      .context = scripted,
                                      .on_notify = on_notify,
                                      .on_message = on_message};
}

void scripted_init(struct scripted_node *scripted)
{
    memset(scripted, 0, sizeof *scripted);
    pthread_mutex_init(&scripted->lock, NULL);
    pthread_cond_init(&scripted->changed, NULL);
}

void scripted_start(struct scripted_node *scripted,
                    const struct gw__driver_config *config)
{
    struct gw_error why;
    scripted->node = config->channel.node;
    enum gw_err err = gw__driver_start(config, &scripted->driver, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
}

void scripted_open(struct scripted_node *scripted, unsigned node)
{
    scripted_init(scripted);
    struct gw__driver_config config = scripted_config(scripted, node);
    scripted_start(scripted, &config);
}

void scripted_close(struct scripted_node *scripted)
{
    gw__driver_stop(&scripted->driver);
    pthread_cond_destroy(&scripted->changed);
    pthread_mutex_destroy(&scripted->lock);
}

void scripted_know(struct scripted_node *a, const struct scripted_node *b)
{
    ck_assert_int_eq(
        gw__driver_know(a->driver, b->node, gw__driver_endpoint(b->driver)),
        GW_OK);
}

void scripted_run(struct scripted_node *scripted, const char *commands)
{
    ck_assert_int_eq(
        gw__driver_request(scripted->driver, commands, strlen(commands)),
        GW_OK);
}

/* False: no line came in time. */
static bool next_line(struct scripted_node *scripted, char line[SCRIPTED_LINE])
{
    struct timespec until;
    int timed_out = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&scripted->lock);
    while (scripted->read == scripted->count && !timed_out)
        timed_out =
            pthread_cond_timedwait(&scripted->changed, &scripted->lock, &until);
    bool came = scripted->read < scripted->count;
    if (came)
        memcpy(line, scripted->lines[scripted->read++], SCRIPTED_LINE);
    pthread_mutex_unlock(&scripted->lock);
    return came;
}

void scripted_expect(struct scripted_node *scripted, const char *due)
{
    char line[SCRIPTED_LINE];
    ck_assert_msg(next_line(scripted, line), "nothing instead of \"%s\"", due);
    ck_assert_str_eq(line, due);
}

void scripted_await(struct scripted_node *scripted, const char *due)
{
    char line[SCRIPTED_LINE];
    do
        ck_assert_msg(next_line(scripted, line), "\"%s\" did not connect", due);
    while (strcmp(line, due) != 0);
}

void scripted_hold(struct scripted_node *scripted, bool held)
{
    pthread_mutex_lock(&scripted->lock);
    scripted->held = held;
    pthread_cond_broadcast(&scripted->changed);
    pthread_mutex_unlock(&scripted->lock);
}

void scripted_block(struct scripted_node *scripted)
{
    scripted_hold(scripted, true);
    scripted_run(scripted, "say held");
    pthread_mutex_lock(&scripted->lock);
    while (!scripted->waits)
        pthread_cond_wait(&scripted->changed, &scripted->lock);
    pthread_mutex_unlock(&scripted->lock);
}
