/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists of algorithms; see plan_list.h.
 */
#include "plan_list.h"

#include "common/command.h"
#include "common/plan/plan_file.h"
#include "common/plan/plan_plugin.h"
#include "common/text/items.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 1024 };

static enum gw_err add_algo(struct plan_list *list, const struct gw_algo *algo,
                            struct gw_error *why)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->algos[i] == algo)
            return GW_OK;
    if (list->count == PLAN_LIST_MAX)
        return gw_fail(why, GW_ENOMEM, "--algo: more than %d algorithms",
                       PLAN_LIST_MAX);
    list->algos[list->count++] = algo;
    return GW_OK;
}

static bool supports(const struct gw_algo *algo, unsigned ranks)
{
    return ranks == 0 || algo->valid(ranks);
}

static enum gw_err add_all(struct plan_list *list,
                           const struct plan_wanted *wanted,
                           struct gw_error *why)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    enum gw_err err = GW_OK;
    for (size_t i = 0; i < count && !err; i++)
        if (algos[i]->collective == wanted->collective &&
            supports(algos[i], wanted->ranks))
            err = add_algo(list, algos[i], why);
    return err;
}

/* The word names nothing for the wanted collective, but maybe for another. */
static bool is_of_other(const char *word, const struct plan_wanted *wanted)
{
    const struct gw_algo *algo;
    bool plugin = plan_names_plugin(word);
    if (!plugin && !plan_names_file(word))
        return !gw_algo_find(wanted->collective, word);
    enum gw_err err = plugin ? plan_plugin(word, &algo, NULL)
                             : plan_file(word, 0, &algo, NULL);
    return !err && algo->collective != wanted->collective;
}

static enum gw_err check_known(const char *word, struct gw_error *why)
{
    bool known = strpbrk(word, "./");
    for (unsigned c = 0; c < GW_COLLECTIVES && !known; c++)
        known = gw_algo_find((enum gw_collective)c, word);
    return known
               ? GW_OK
               : gw_fail(why, GW_EINVAL,
                         "no collective has an algorithm \"%.60s\"; \"collrun "
                         "list\" lists them",
                         word);
}

static enum gw_err unsupported(const struct plan_list *list,
                               const struct plan_wanted *wanted,
                               const char *label, struct gw_error *why)
{
    if (wanted->others)
        return GW_OK;
    enum gw_err err =
        gw_fail(why, GW_EINVAL, "%s %.100s does not support %u ranks",
                gw_collective_name(wanted->collective), label, wanted->ranks);
    return plan_leave_out(list, err, why);
}

static enum gw_err add_word(struct plan_list *list,
                            const struct plan_wanted *wanted, const char *word,
                            struct gw_error *why)
{
    const struct gw_algo *algo;
    unsigned own = plan_names_file(word) ? plan_file_ranks(word) : 0;
    bool other = own && wanted->ranks && own != wanted->ranks;
    if (other && (list->several || wanted->others))
        return unsupported(list, wanted, word, why);
    enum gw_err err =
        plan_algo(wanted->collective, word, wanted->ranks, &algo, why);
    if (err)
        return err == GW_EINVAL ? err : plan_leave_out(list, err, why);
    return supports(algo, wanted->ranks)
               ? add_algo(list, algo, why)
               : unsupported(list, wanted, plan_algo_label(algo), why);
}

enum gw_err plan_list(const struct plan_wanted *wanted, struct plan_list *list,
                      struct gw_error *why)
{
    char word[WORD_BYTES];
    const char *rest = wanted->words ? wanted->words : "all";
    enum gw_err err = GW_OK;
    *list = (struct plan_list){.several = strcmp(rest, "all") == 0 ||
                                          strchr(rest, ',')};
    while (!err && items_next(&rest, word, sizeof word)) {
        if (strcmp(word, "all") == 0)
            err = add_all(list, wanted, why);
        else if (wanted->others && is_of_other(word, wanted))
            err = check_known(word, why);
        else
            err = add_word(list, wanted, word, why);
    }
    if (!err && list->count == 0 && !wanted->others)
        err = gw_fail(why, GW_EINVAL, "no algorithm of %s supports %u ranks",
                      gw_collective_name(wanted->collective), wanted->ranks);
    return err;
}

enum gw_err plan_leave_out(const struct plan_list *list, enum gw_err err,
                           struct gw_error *why)
{
    bool wrong = err == GW_EPLAN || err == GW_EDATA;
    if (!list->several || (!wrong && err != GW_EINVAL))
        return err;
    if (wrong)
        (void)complain(why);
    else
        fprintf(stderr, "collrun: left out: %s\n", why->text);
    return GW_OK;
}

unsigned plan_list_ranks(const char *words)
{
    char word[WORD_BYTES];
    unsigned ranks = 0;
    for (const char *rest = words;
         !ranks && rest && items_next(&rest, word, sizeof word);)
        if (plan_names_file(word))
            ranks = plan_file_ranks(word);
    return ranks;
}
