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
    {"epochs", SET_U64, ALL, TASK(epochs), "Passes over the data."},
    {"batch", SET_SIZE, ALL, TASK(batch), "Samples of a batch, in all parts."},
    {"updater", SET_UPDATER, ALL, TASK(updater),
     "add, sgd, momentum, adagrad, adam or ftrl"},
    {"rate", SET_FLOAT, ALL, TASK(rate), "Learning rate; alpha of ftrl."},
    {"momentum", SET_FLOAT, ALL, TASK(momentum),
     "Momentum of the optimiser momentum."},
    {"beta1", SET_FLOAT, ALL, TASK(beta1),
     "Decay of the first moment of adam."},
    {"beta2", SET_FLOAT, ALL, TASK(beta2),
     "Decay of the second moment of adam."},
    {"epsilon", SET_FLOAT, ALL, TASK(epsilon), "Epsilon of adagrad and adam."},
    {"beta", SET_FLOAT, ALL, TASK(beta), "Beta of ftrl."},
    {"l1", SET_FLOAT, ALL, TASK(l1), "L1 regularisation of ftrl."},
    {"l2", SET_FLOAT, ALL, TASK(l2), "Weight decay."},
    {"on-demand", SET_SWITCH, LR | LINEAR, TASK(on_demand),
     "Keep the rows in the file; each work item reads its own."},
    {"users", SET_U32, MF, TASK(mf.users), "Rows of the rating matrix."},
    {"items", SET_U32, MF, TASK(mf.items), "Columns of the rating matrix."},
    {"rank", SET_U32, MF | CTR, TASK(mf.rank),
     "Rank of the true and of the learned matrix."},
    {"ratings", SET_SIZE, MF, TASK(mf.ratings), "Number of known ratings."},
    {"noise", SET_DOUBLE, MF, TASK(mf.noise),
     "Standard deviation of the noise."},
    {"noise", SET_DOUBLE, DRIFT, TASK(drift.noise),
     "Standard deviation of the noise."},
    {"dimension", SET_U32, WORDS, TASK(words.dimension), "Length of a vector."},
    {"window", SET_U32, WORDS, TASK(words.window), "Words on each side."},
    {"negatives", SET_U32, WORDS, TASK(words.negatives),
     "Negative samples per word."},
    {"min-count", SET_U64, WORD2VEC, TASK(words.min_count),
     "Minimum number of occurrences of a word."},
    {"subsample", SET_DOUBLE, WORDS, TASK(words.subsample),
     "Subsampling of frequent words. 0: none."},
    {"walks", SET_U32, DEEPWALK, TASK(words.walks),
     "Walks that begin at each node."},
    {"length", SET_U32, DEEPWALK, TASK(words.length), "Nodes of a walk."},
    {"features", SET_U32, LINEAR, TASK(stream.features),
     "Features of a stream's rows."},
    {"rows", SET_SIZE, LINEAR, TASK(stream.rows),
     "Rows of a stream per epoch."},
    {"features", SET_U32, DRIFT, TASK(drift.features), "Features of a row."},
    {"rows", SET_SIZE, DRIFT, TASK(drift.rows), "Rows of an epoch."},
    {"period", SET_DOUBLE, DRIFT, TASK(drift.period),
     "Rows after which the truth repeats."},
    {"hidden", SET_U32, CARTPOLE, TASK(cartpole.hidden),
     "Hidden units of the agent."},
    {"episodes", SET_SIZE, CARTPOLE, TASK(cartpole.episodes),
     "Episodes of an epoch."},
    {"limit", SET_U32, CARTPOLE, TASK(cartpole.limit),
     "Maximum number of steps of an episode."},
    {"unroll", SET_U32, CARTPOLE, TASK(cartpole.unroll),
     "Steps of an n-step return or of a trajectory."},
    {"discount", SET_DOUBLE, CARTPOLE, TASK(cartpole.discount),
     "Discount of rewards per step."},
    {"value-weight", SET_DOUBLE, CARTPOLE, TASK(cartpole.value_weight),
     "Weight of the value loss."},
    {"entropy-weight", SET_DOUBLE, CARTPOLE, TASK(cartpole.entropy_weight),
     "Weight of the entropy bonus."},
    {"scale", SET_SWITCH, NET, TASK(net.scale),
     "Divide all values by the largest."},
    {"half", SET_SWITCH, ANY, WORKER(half), "Send values as f16."},
    {"top-share", SET_FLOAT, ANY, WORKER(top_share),
     "Send only this share of a push immediately."},
    {"significant", SET_FLOAT, ANY, WORKER(significant),
     "Delay smaller changes of a row."},
    {"no-key-cache", SET_SWITCH, ANY, WORKER(no_key_cache),
     "Send the key list with every request."},
    {"no-place", SET_SWITCH, ANY, WORKER(no_place),
     "With shm, copy values and never read them in place."},
    {"no-bundle", SET_SWITCH, ANY, WORKER(no_bundle),
     "Send one message per slot of a request instead of one per server."},
    {"ask-routes", SET_SWITCH, ANY, WORKER(ask_routes),
     "Request the routes from the controllers before each access."},
    {"aggregate", SET_SWITCH, ANY, WORKER(aggregate),
     "Send the small messages of all workers of a host together."},
    {"aggregate-us", SET_U32, ANY, WORKER(aggregate_us),
     "Microseconds that the first of them waits for the others."},
    {"threads", SET_U32, ANY, SERVER(threads),
     "Threads of a server that apply pushes; with hogwild also of a worker."},
    {"hogwild", SET_SWITCH, ANY, SERVER(hogwild),
     "Let threads write without locks."},
    {"ack", SET_ACK, ANY, SERVER(ack_primary),
     "Replicas that acknowledge a push: all or primary."},
    {"no-dedupe", SET_SWITCH, ANY, SERVER(no_dedupe),
     "Count repeated pushes again, to show the resulting fault."},
    {"no-fencing", SET_SWITCH, ANY, SERVER(no_fencing),
     "Let replaced primaries serve on, to show the resulting fault."},
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
    return gw_fail(why, GW_EINVAL, "%s must be %s, not \"%.40s\"", name, wanted,
                   value);
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

static enum gw_err set_value(const struct setting *s, const char *value,
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
    return gw_fail(why, GW_EINTERNAL, "%s has an unknown kind of value",
                   s->name);
}

/* ---- names ---- */

static enum gw_err find_setting(const char *model,
                                const struct settings *settings,
                                const char *name, const struct setting **found,
                                struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96];
    bool other = false;
    unsigned wanted = ANY | (model ? 1u << settings->task.kind : 0);
    suggestion_begin(&suggestion, name);
    for (unsigned i = 0; i < SETTINGS; i++) {
        bool is = strcmp(table[i].name, name) == 0;
        if (is && table[i].models & wanted) {
            *found = &table[i];
            return GW_OK;
        }
        other = other || is;
        suggestion_offer(&suggestion, table[i].name);
    }
    if (other && !model)
        return gw_fail(why, GW_EINVAL,
                       "%s is a setting of models; name a model first", name);
    if (other)
        return gw_fail(why, GW_EINVAL, "the model %s has no setting %s", model,
                       name);
    return gw_fail(why, GW_EINVAL, "unknown setting \"%s\"%s", name,
                   suggestion_text(&suggestion, hint));
}

/* Splits "rate=0.1"; false: another form. */
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
                           "a setting must be name=value, not \"%.40s\"", pair);
        if (find_setting(model, settings, pair, &setting, why) ||
            set_value(setting, value, settings, why))
            return GW_EINVAL;
        text += length;
    }
    settings->server.no_bundle = settings->worker.no_bundle;
    return GW_OK;
}

enum gw_err settings_check_aggregate(const struct settings *settings,
                                     unsigned workers, struct gw_error *why)
{
    enum {
        LONGEST_US = 50000
    }; /* half of what a request waits for an answer */
    const struct gw_ps_config *worker = &settings->worker;
    if (worker->aggregate_us > LONGEST_US)
        return gw_fail(why, GW_EINVAL,
                       "aggregate-us must be from 1 to %d, not %u", LONGEST_US,
                       worker->aggregate_us);
    if (worker->aggregate_us && !worker->aggregate)
        return gw_fail(why, GW_EINVAL, "aggregate-us needs aggregate=1");
    if (worker->aggregate && worker->no_bundle)
        return gw_fail(why, GW_EINVAL,
                       "use either aggregate or no-bundle, not both");
    if (worker->aggregate && workers < 2)
        return gw_fail(why, GW_EINVAL,
                       "aggregate needs at least 2 workers, not %u", workers);
    return GW_OK;
}

enum gw_err settings_check_hogwild(const struct settings *settings,
                                   struct gw_error *why)
{
    enum { LEAST = 2, MOST = 64 };
    unsigned threads = settings->server.threads;
    if (!settings->server.hogwild || (threads >= LEAST && threads <= MOST))
        return GW_OK;
    return gw_fail(why, GW_EINVAL, "hogwild needs %d to %d threads, not %u",
                   LEAST, MOST, threads ? threads : 1);
}
