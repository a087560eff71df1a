/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cases of `collrun tune`: for each number of ranks, collective and size,
 * the promising algorithms. The prediction is seldom wrong by more than a
 * factor of three, so slower ones are omitted, unless --all is given. With --algo
 * these are the listed ones, the current choice and the predicted best. Sizes go
 * up by the factor; the largest is always included. With --from the sizes are
 * those of a program.
 */
#include "tune.h"

#include "collrun/bench/sizes.h"
#include "collrun/plan/plan_source.h"

#include <stdlib.h>

enum { CANDIDATES_MAX = 64, ELEM_BYTES = sizeof(float), HOPELESS = 3 };

static void add_algo(struct tune_case *item,
                     const struct gw_candidate *candidate)
{
    if (item->algo_count < TUNE_ALGOS_MAX)
        item->algos[item->algo_count++] = (struct tune_algo){
            .algo = candidate->algo,
            .added = plan_algo_is_added(candidate->algo),
            .predicted_us = candidate->predicted_us,
        };
}

static bool lists(const struct plan_list *list, const struct gw_algo *algo)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->algos[i] == algo)
            return true;
    return false;
}

/* Those that the library never chooses by itself. */
static void list_added(const struct tune *tune, struct tune_case *item,
                       const struct plan_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct gw_candidate added = {.algo = list->algos[i]};
        if (!plan_algo_is_added(added.algo))
            continue;
        added.predicted_us = plan_predict_us(
            tune->wire, added.algo, item->ranks, item->count, ELEM_BYTES);
        add_algo(item, &added);
    }
}

/* The first candidate is the current choice; the others are in order of the
 * prediction. Without --algo, what could win, and with --all every one. */
static void list_algos(const struct tune *tune, struct tune_case *item,
                       const struct plan_list *list)
{
    struct gw_candidate found[CANDIDATES_MAX];
    size_t count = gw_choose(tune->wire, item->collective, item->ranks,
                             item->count, ELEM_BYTES, found, CANDIDATES_MAX);
    size_t best = count > 1 && found[1].predicted_us < found[0].predicted_us;
    for (size_t i = 0; i < count && i < CANDIDATES_MAX; i++) {
        bool hopeless =
            found[i].predicted_us > HOPELESS * found[best].predicted_us;
        hopeless = hopeless || found[i].algo->baseline;
        bool wanted = tune->words ? lists(list, found[i].algo) : !hopeless;
        if (i > 0 && i != best && !wanted && !tune->all)
            continue;
        if (i == best)
            item->predicted = item->algo_count;
        add_algo(item, &found[i]);
    }
    list_added(tune, item, list);
}

static enum gw_err add_case(struct tune *tune, const struct tune_case *item,
                            struct gw_error *why)
{
    if (tune->case_count == tune->case_room) {
        size_t room = tune->case_room ? 2 * tune->case_room : 64;
        struct tune_case *moved = realloc(tune->cases, room * sizeof *moved);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "%zu cases", room);
        tune->cases = moved;
        tune->case_room = room;
    }
    tune->cases[tune->case_count++] = *item;
    return GW_OK;
}

/* From one size to the next; 0 after the last. */
static uint64_t next_size(const struct tune *tune, uint64_t bytes)
{
    if (bytes == tune->bytes_max)
        return 0;
    return bytes > tune->bytes_max / tune->factor ? tune->bytes_max
                                                  : bytes * tune->factor;
}

static uint64_t least_bytes_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The sizes of a program. The rule of a class begins at its smallest size. */
static enum gw_err list_uses(struct tune *tune, unsigned ranks,
                             enum gw_collective collective,
                             const struct plan_list *list, struct gw_error *why)
{
    for (unsigned s = 0; s < TUNE_SIZES; s++) {
        const struct tune_use *use = &tune->uses[collective][s];
        size_t least = (size_t)(use->least_bytes + ELEM_BYTES - 1) / ELEM_BYTES;
        struct tune_case item = {
            .collective = collective,
            .ranks = ranks,
            .tuned_algo = -1,
            .count = (size_t)(use->most_bytes + ELEM_BYTES - 1) / ELEM_BYTES,
        };
        item.bytes = size_bytes(collective, ranks, item.count, ELEM_BYTES);
        item.requested_bytes = least_bytes_of(
            size_bytes(collective, ranks, least, ELEM_BYTES), item.bytes);
        if (use->calls == 0 || item.bytes > tune->bytes_max ||
            (collective != GW_BARRIER && item.bytes < tune->bytes_min))
            continue;
        list_algos(tune, &item, list);
        if (add_case(tune, &item, why))
            return why->code;
    }
    return GW_OK;
}

static enum gw_err list_sizes(struct tune *tune, unsigned ranks,
                              enum gw_collective collective,
                              const struct plan_list *list,
                              struct gw_error *why)
{
    uint64_t before = UINT64_MAX, bytes = tune->bytes_min;
    for (; bytes; bytes = next_size(tune, bytes)) {
        struct tune_case item = {
            .collective = collective, .ranks = ranks, .tuned_algo = -1};
        if (collective != GW_BARRIER) {
            item.requested_bytes = bytes;
            item.count = plan_count(collective, ranks, bytes, ELEM_BYTES);
        }
        item.bytes = size_bytes(collective, ranks, item.count, ELEM_BYTES);
        if (item.bytes == before)
            continue;
        before = item.bytes;
        list_algos(tune, &item, list);
        if (add_case(tune, &item, why))
            return why->code;
    }
    return GW_OK;
}

/* Plans are measured with root 0. */
static enum gw_err prove(const struct gw_algo *algo, unsigned ranks,
                         struct gw_error *why)
{
    struct gw_algo_args args = {.ranks = ranks};
    if (plan_prove(algo, &args, why))
        return why->code;
    return args.root ? gw_fail(why, GW_EINVAL,
                               "%.100s has root %u; tune needs root 0",
                               plan_algo_word(algo), args.root)
                     : GW_OK;
}

/* The algorithms of --algo for one collective. */
static enum gw_err list_words(const struct tune *tune, unsigned ranks,
                              enum gw_collective collective,
                              struct plan_list *list, struct gw_error *why)
{
    unsigned collectives = 0;
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        collectives += tune->collectives[c];
    const struct plan_wanted wanted = {.collective = collective,
                                       .words = tune->words,
                                       .ranks = ranks,
                                       .others = collectives > 1};
    enum gw_err err = plan_list(&wanted, list, why);
    size_t right = 0;
    for (size_t i = 0; i < list->count && !err; i++) {
        struct gw_error wrong = {.code = GW_OK};
        if (prove(list->algos[i], ranks, &wrong) == GW_OK)
            list->algos[right++] = list->algos[i];
        else if ((err = plan_leave_out(list, wrong.code, &wrong)))
            *why = wrong;
    }
    list->count = right;
    return err;
}

static enum gw_err list_collective(struct tune *tune, unsigned ranks,
                                   enum gw_collective collective,
                                   struct gw_error *why)
{
    struct plan_list list = {.count = 0};
    if (tune->words && list_words(tune, ranks, collective, &list, why))
        return why->code;
    return tune->from_program ? list_uses(tune, ranks, collective, &list, why)
                              : list_sizes(tune, ranks, collective, &list, why);
}

enum gw_err tune_list(struct tune *tune, struct gw_error *why)
{
    tune->cases = NULL;
    tune->case_count = tune->case_room = 0;
    for (unsigned r = 0; r < tune->ranks_count; r++)
        for (unsigned c = 0; c < GW_COLLECTIVES; c++)
            if (tune->collectives[c] &&
                list_collective(tune, tune->ranks[r], (enum gw_collective)c,
                                why))
                return why->code;
    return GW_OK;
}

void tune_predict(struct tune *tune, const struct gw_wire_costs *costs)
{
    for (size_t i = tune->begin; i < tune->end; i++) {
        struct tune_case *item = &tune->cases[i];
        item->predicted = 0;
        for (unsigned a = 0; a < item->algo_count; a++) {
            struct tune_algo *algo = &item->algos[a];
            double us = gw_predict_us(tune->wire, costs, algo->algo,
                                      item->ranks, item->count, ELEM_BYTES);
            if (us >= 0) /* else out of memory: unchanged */
                algo->predicted_us = us;
            if (!algo->added && !algo->algo->baseline &&
                algo->predicted_us < item->algos[item->predicted].predicted_us)
                item->predicted = a;
        }
    }
}
