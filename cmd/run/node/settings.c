/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See settings.h.
 */
#include "settings.h"

#include "common/text/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    SET_U32,
    SET_U64,
    SET_SIZE,
    SET_FLOAT,
    SET_DOUBLE,
    SET_SWITCH,  /* bool: 0 or 1 */
    SET_UPDATER, /* by its name */
    SET_ACK      /* "all" or "primary" */
};

#define LR       (1u << GW_TASK_LR)
#define LINEAR   (1u << GW_TASK_LINEAR)
#define MF       (1u << GW_TASK_MF)
#define WORD2VEC (1u << GW_TASK_WORD2VEC)
#define DEEPWALK (1u << GW_TASK_DEEPWALK)
#define WORDS    (WORD2VEC | DEEPWALK)
#define DRIFT    (1u << GW_TASK_DRIFT)
#define CARTPOLE (1u << GW_TASK_CARTPOLE)
#define NET      (1u << GW_TASK_NET)
#define CTR      (1u << GW_TASK_CTR)
#define ALL      (LR | LINEAR | MF | WORDS | DRIFT | CARTPOLE | NET | CTR)
#define ANY      (1u << 31) /* also without a model */

#define TASK(member)   offsetof(struct settings, task.member)
#define WORKER(member) offsetof(struct settings, worker.member)
#define SERVER(member) offsetof(struct settings, server.member)

static const struct setting {
    const char *name;
    enum kind kind;
    unsigned models;
    size_t offset;
    const char *help;
} table[] = {
    {"epochs", SET_U64, ALL, TASK(epochs), "times that all samples are seen"},
    {"batch", SET_SIZE, ALL, TASK(batch), "samples of a batch, in all parts"},
    {"updater", SET_UPDATER, ALL, TASK(updater),
     "add, sgd, momentum, adagrad, adam, ftrl"},
    {"rate", SET_FLOAT, ALL, TASK(rate), "learning rate; alpha of ftrl"},
    {"momentum", SET_FLOAT, ALL, TASK(momentum), "of updater momentum"},
    {"beta1", SET_FLOAT, ALL, TASK(beta1), "of adam"},
    {"beta2", SET_FLOAT, ALL, TASK(beta2), "of adam"},
    {"epsilon", SET_FLOAT, ALL, TASK(epsilon), "of adagrad and adam"},
    {"beta", SET_FLOAT, ALL, TASK(beta), "of ftrl"},
    {"l1", SET_FLOAT, ALL, TASK(l1), "of ftrl"},
    {"l2", SET_FLOAT, ALL, TASK(l2), "weight decay"},
    {"on-demand", SET_SWITCH, LR | LINEAR, TASK(on_demand),
     "rows stay in the file; each unit reads its own"},
    {"users", SET_U32, MF, TASK(mf.users), "rows of the ratings"},
    {"items", SET_U32, MF, TASK(mf.items), "columns of the ratings"},
    {"rank", SET_U32, MF | CTR, TASK(mf.rank),
     "of the truth, and what is learnt"},
    {"ratings", SET_SIZE, MF, TASK(mf.ratings), "that are known"},
    {"noise", SET_DOUBLE, MF, TASK(mf.noise), "standard deviation"},
    {"noise", SET_DOUBLE, DRIFT, TASK(drift.noise), "standard deviation"},
    {"dimension", SET_U32, WORDS, TASK(words.dimension), "of a vector"},
    {"window", SET_U32, WORDS, TASK(words.window), "words on each side"},
    {"negatives", SET_U32, WORDS, TASK(words.negatives),
     "words drawn against each"},
    {"min-count", SET_U64, WORD2VEC, TASK(words.min_count),
     "rarer words are left out"},
    {"subsample", SET_DOUBLE, WORDS, TASK(words.subsample),
     "of frequent words; 0: none"},
    {"walks", SET_U32, DEEPWALK, TASK(words.walks), "that begin at each node"},
    {"length", SET_U32, DEEPWALK, TASK(words.length), "nodes of a walk"},
    {"features", SET_U32, LINEAR, TASK(stream.features), "of a stream's rows"},
    {"rows", SET_SIZE, LINEAR, TASK(stream.rows), "of a stream, in an epoch"},
    {"features", SET_U32, DRIFT, TASK(drift.features), "of a row"},
    {"rows", SET_SIZE, DRIFT, TASK(drift.rows), "of an epoch"},
    {"period", SET_DOUBLE, DRIFT, TASK(drift.period),
     "rows after which the truth is as before"},
    {"hidden", SET_U32, CARTPOLE, TASK(cartpole.hidden), "units of the agent"},
    {"episodes", SET_SIZE, CARTPOLE, TASK(cartpole.episodes), "of an epoch"},
    {"limit", SET_U32, CARTPOLE, TASK(cartpole.limit),
     "steps of an episode, at most"},
    {"unroll", SET_U32, CARTPOLE, TASK(cartpole.unroll),
     "n of n-step returns; steps of a trajectory"},
    {"discount", SET_DOUBLE, CARTPOLE, TASK(cartpole.discount),
     "of rewards, a step"},
    {"value-weight", SET_DOUBLE, CARTPOLE, TASK(cartpole.value_weight),
     "of the value loss"},
    {"entropy-weight", SET_DOUBLE, CARTPOLE, TASK(cartpole.entropy_weight),
     "of the entropy, which is rewarded"},
    {"scale", SET_SWITCH, NET, TASK(net.scale), "divide values by the largest"},
    {"half", SET_SWITCH, ANY, WORKER(half), "values travel as f16"},
    {"top-share", SET_FLOAT, ANY, WORKER(top_share),
     "only so much of a push travels at once"},
    {"significant", SET_FLOAT, ANY, WORKER(significant),
     "smaller changes of a row wait"},
    {"no-key-cache", SET_SWITCH, ANY, WORKER(no_key_cache),
     "key lists travel with every request"},
    {"no-place", SET_SWITCH, ANY, WORKER(no_place),
     "shm: values are copied, never read in place"},
    {"no-bundle", SET_SWITCH, ANY, WORKER(no_bundle),
     "one message per slot of a request, not per server"},
    {"ask-routes", SET_SWITCH, ANY, WORKER(ask_routes),
     "controllers are asked before each access"},
    {"threads", SET_U32, ANY, SERVER(threads),
     "of a server, that apply; with hogwild of a worker"},
    {"hogwild", SET_SWITCH, ANY, SERVER(hogwild),
     "threads write without locks"},
    {"ack", SET_ACK, ANY, SERVER(ack_primary), "all or primary"},
    {"no-dedupe", SET_SWITCH, ANY, SERVER(no_dedupe),
     "what goes wrong: repeated pushes count again"},
    {"no-fencing", SET_SWITCH, ANY, SERVER(no_fencing),
     "what goes wrong: replaced primaries serve on"},
};
enum { SETTINGS = sizeof table / sizeof *table };

const char *settings_name(unsigned i)
{
    return i < SETTINGS ? table[i].name : NULL;
}

const char *settings_help(unsigned i)
{
    return i < SETTINGS ? table[i].help : NULL;
}

/* ---- values ---- */

static enum gw_err odd(const char *name, const char *wanted, const char *value,
                       struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "%s is to be %s, not \"%.40s\"", name,
                   wanted, value);
}

static enum gw_err set_whole(const struct setting *s, const char *value,
                             void *at, struct gw_error *why)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno ||
        (s->kind == SET_U32 && number > UINT32_MAX))
        return odd(s->name, "a whole number", value, why);
    if (s->kind == SET_U32)
        *(uint32_t *)at = (uint32_t)number;
    else if (s->kind == SET_U64)
        *(uint64_t *)at = number;
    else
        *(size_t *)at = (size_t)number;
    return GW_OK;
}

static enum gw_err set_real(const struct setting *s, const char *value,
                            void *at, struct gw_error *why)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !isfinite(number) || number < 0)
        return odd(s->name, "a number of at least 0", value, why);
    if (s->kind == SET_FLOAT)
        *(float *)at = (float)number;
    else
        *(double *)at = number;
    return GW_OK;
}

static enum gw_err set_updater(const struct setting *s, const char *value,
                               void *at, struct gw_error *why)
{
    for (unsigned u = 0; u < GW_PS_UPDATERS; u++)
        if (u != GW_PS_CALLBACK &&
            strcmp(value, gw_ps_updater_name((enum gw_ps_updater)u)) == 0) {
            *(enum gw_ps_updater *)at = (enum gw_ps_updater)u;
            return GW_OK;
        }
    return odd(s->name, s->help, value, why);
}

/* One of two words. */
static enum gw_err set_word(const struct setting *s, const char *value,
                            const char *no, const char *yes, void *at,
                            struct gw_error *why)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%s or %s", no, yes);
    if (strcmp(value, no) != 0 && strcmp(value, yes) != 0)
        return odd(s->name, wanted, value, why);
    *(bool *)at = strcmp(value, yes) == 0;
    return GW_OK;
}

static enum gw_err set(const struct setting *s, const char *value,
                       struct settings *settings, struct gw_error *why)
{
    void *at = (char *)settings + s->offset;
    switch (s->kind) {
    case SET_U32:
    case SET_U64:
    case SET_SIZE:
        return set_whole(s, value, at, why);
    case SET_FLOAT:
    case SET_DOUBLE:
        return set_real(s, value, at, why);
    case SET_SWITCH:
        return set_word(s, value, "0", "1", at, why);
    case SET_UPDATER:
        return set_updater(s, value, at, why);
    case SET_ACK:
        return set_word(s, value, "all", "primary", at, why);
    }
    return gw_fail(why, GW_EINTERNAL, "%s is of no kind", s->name);
}

/* ---- names ---- */

static enum gw_err find(const char *model, const struct settings *settings,
                        const char *name, const struct setting **found,
                        struct gw_error *why)
{
    struct suggestion near;
    char hint[96];
    bool other = false;
    unsigned wanted = ANY | (model ? 1u << settings->task.kind : 0);
    suggestion_begin(&near, name);
    for (unsigned i = 0; i < SETTINGS; i++) {
        bool is = strcmp(table[i].name, name) == 0;
        if (is && table[i].models & wanted) {
            *found = &table[i];
            return GW_OK;
        }
        other = other || is;
        suggestion_offer(&near, table[i].name);
    }
    if (other && !model)
        return gw_fail(why, GW_EINVAL, "%s is for a model, and there is none",
                       name);
    if (other)
        return gw_fail(why, GW_EINVAL, "the model %s has no %s", model, name);
    return gw_fail(why, GW_EINVAL, "there is no setting \"%s\"%s", name,
                   suggestion_text(&near, hint));
}

/* "rate=0.1" in two; false: it is not of this form. */
static bool split(char *pair, char **value)
{
    char *equal = strchr(pair, '=');
    if (!equal || equal == pair || !equal[1])
        return false;
    *equal = 0;
    *value = equal + 1;
    for (char *c = pair; *c; c++)
        if (*c == '_')
            *c = '-';
    return true;
}

enum gw_err settings_parse(const char *model, const char *text,
                           struct settings *settings, struct gw_error *why)
{
    char pair[96], *value;
    const struct setting *setting = NULL;
    memset(settings, 0, sizeof *settings);
    if (model && gw_task_defaults(model, &settings->task, why))
        return GW_EINVAL;
    while (*(text += strspn(text, " ,\t\n"))) {
        size_t length = strcspn(text, " ,\t\n");
        snprintf(pair, sizeof pair, "%.*s", (int)length, text);
        if (length >= sizeof pair || !split(pair, &value))
            return gw_fail(why, GW_EINVAL,
                           "a setting is written name=value, not \"%.40s\"",
                           pair);
        if (find(model, settings, pair, &setting, why) ||
            set(setting, value, settings, why))
            return GW_EINVAL;
        text += length;
    }
    settings->server.no_bundle = settings->worker.no_bundle;
    return GW_OK;
}

enum gw_err settings_check_hogwild(const struct settings *settings,
                                   struct gw_error *why)
{
    enum { LEAST = 2, MOST = 64 };
    unsigned threads = settings->server.threads;
    if (!settings->server.hogwild || (threads >= LEAST && threads <= MOST))
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "hogwild wants %d to %d threads, not %u",
                   LEAST, MOST, threads ? threads : 1);
}
