/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price --why: the automatic choice in sentences. It calls gw_choose,
 * as a call does, so the explanation always matches the choice: by a rule of
 * `collrun tune`, or by the prediction, whose cost breakdown is shown for the
 * first three.
 */
#include "price.h"

#include "common/output.h"
#include "plan_source.h"

#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 32, SIZE_FIRST = 64, SIZE_LAST = 1 << 28 };

/* Fills `out` as gw_choose does for a message of `bytes`. */
static size_t choose_candidates(const struct price_question *question,
                                uint64_t bytes,
                                struct gw_candidate out[CANDIDATES])
{
    size_t count = plan_count(question->collective, question->ranks, bytes,
                              question->elem_bytes);
    size_t found =
        gw_choose(question->wire, question->collective, question->ranks, count,
                  question->elem_bytes, out, CANDIDATES);
    return found < CANDIDATES ? found : CANDIDATES;
}

static void explain_costs(struct output *output,
                          const struct price_question *question)
{
    struct gw_wire_costs costs;
    bool measured;
    char text[256];
    gw_costs(question->wire, &costs, &measured);
    snprintf(text, sizeof text,
             "over %s a message costs %.3g us, a kilobyte sent %.3g us, a "
             "kilobyte reduced %.3g us (%s)",
             question->wire, costs.model.alpha_us,
             costs.model.beta_us_per_byte * 1024,
             costs.model.gamma_us_per_byte * 1024,
             measured ? "measured by collrun calibrate"
                      : "built in; run collrun calibrate to measure this "
                        "machine");
    output_note_text(output, "costs", text);
}

/* "turns 6 x 13 = 78.2" and so on, the largest first. */
static void list_lines(struct gw_cost_line *lines, size_t count, char *text,
                       size_t room)
{
    size_t used = strlen(text);
    for (size_t left = count; left > 0 && used < room; left--) {
        size_t most = 0;
        for (size_t i = 1; i < left; i++)
            if (lines[i].us > lines[most].us)
                most = i;
        const char *what;
        struct gw_cost_line line = lines[most];
        lines[most] = lines[left - 1];
        (void)gw_coefficient_name(line.coefficient, &what);
        int n =
            snprintf(text + used, room - used, "%s%.2f (%.6g %s)",
                     left == count ? "" : " + ", line.us, line.amount, what);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* The cost breakdown of the first few predictions. */
static void explain_breakdowns(struct output *output,
                               const struct price_question *question)
{
    enum { BREAKDOWNS = 3 };
    static const char *const names[BREAKDOWNS] = {"first", "second", "third"};
    struct gw_candidate best[CANDIDATES];
    size_t found = choose_candidates(question, question->bytes, best);
    for (size_t i = 0; i < found && i < BREAKDOWNS; i++) {
        char text[512];
        struct gw_cost_line lines[GW_COEFFICIENTS_MAX];
        size_t count =
            gw_cost_breakdown(question->wire, best[i].algo, question->ranks,
                              question->count, question->elem_bytes, lines);
        if (count == 0)
            return;
        snprintf(text, sizeof text, "%s %.2f us = ", best[i].algo->name,
                 best[i].predicted_us);
        list_lines(lines, count, text, sizeof text);
        output_note_text(output, names[i], text);
    }
}

/* "by tuning rule of 2026-11-22: at 4K measured 3.10 us, against 4.20 us of
 * ring" */
static void explain_tuning_rule(struct output *output, const char *call,
                                const struct gw_tuning_rule *tuning_rule,
                                const struct gw_candidate *first)
{
    char text[320], size[16];
    int used = snprintf(text, sizeof text, "%s uses %s by tuning rule", call,
                        tuning_rule->algo->name);
    if (*tuning_rule->date)
        used += snprintf(text + used, sizeof text - (size_t)used, " of %.10s",
                         tuning_rule->date);
    gw_format_bytes(tuning_rule->bytes, size);
    if (tuning_rule->us > 0 && tuning_rule->instead_us > 0 &&
        tuning_rule->instead)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         ": at %s it took %.2f us, against %.2f us for %s",
                         size, tuning_rule->us, tuning_rule->instead_us,
                         tuning_rule->instead->name);
    snprintf(text + used, sizeof text - (size_t)used, " (%.2f us predicted)",
             first->predicted_us);
    output_note_text(output, "choice", text);
}

static void explain_prediction(struct output *output, const char *call,
                               const struct gw_candidate *best, size_t found)
{
    char text[320];
    int used = snprintf(text, sizeof text, "%s uses %s: %.2f us predicted",
                        call, best[0].algo->name, best[0].predicted_us);
    double ratio = found > 1 ? best[1].predicted_us / best[0].predicted_us : 0;
    if (found > 1 && ratio < 1 && !best[1].algo->baseline)
        snprintf(text + used, sizeof text - (size_t)used,
                 ", in one pass; %s, with messages, is not certainly faster "
                 "(%.2f us)",
                 best[1].algo->name, best[1].predicted_us);
    else if (found > 1)
        snprintf(text + used, sizeof text - (size_t)used,
                 ", %.2f times as fast as %s, the next (%.2f us)", ratio,
                 best[1].algo->name, best[1].predicted_us);
    output_note_text(output, "choice", text);
}

static void explain_choice(struct output *output,
                           const struct price_question *question)
{
    struct gw_candidate best[CANDIDATES];
    struct gw_tuning_rule tuning_rule;
    char call[80], size[16];
    size_t found = choose_candidates(question, question->bytes, best);
    if (found == 0)
        return;
    gw_format_bytes(question->bytes, size);
    snprintf(call, sizeof call, "a call of %s among %u ranks", size,
             question->ranks);
    if (gw_tuning_rule_find(question->wire, question->collective,
                            question->ranks, question->count,
                            question->elem_bytes, &tuning_rule))
        explain_tuning_rule(output, call, &tuning_rule, &best[0]);
    else
        explain_prediction(output, call, best, found);
}

/* "up to 16K one_shot, up to 4M partitioned, above ring" */
static void explain_sizes(struct output *output,
                          const struct price_question *question)
{
    struct gw_candidate best[CANDIDATES];
    char text[512] = "", size[16];
    const struct gw_algo *before = NULL;
    for (uint64_t bytes = SIZE_FIRST; bytes <= SIZE_LAST; bytes *= 2) {
        if (choose_candidates(question, bytes, best) == 0)
            return;
        size_t used = strlen(text);
        gw_format_bytes(bytes / 2, size);
        if (before && best[0].algo != before)
            snprintf(text + used, sizeof text - used, "up to %s %s, ", size,
                     before->name);
        before = best[0].algo;
    }
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s %s",
             used ? "above" : "at any size", before->name);
    output_note_text(output, "sizes", text);
}

void price_explain(struct output *output, const struct price_question *question)
{
    explain_costs(output, question);
    explain_choice(output, question);
    explain_breakdowns(output, question);
    if (question->collective != GW_BARRIER)
        explain_sizes(output, question);
}
