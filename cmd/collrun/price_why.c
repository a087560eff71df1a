/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun price --why: the automatic choice in sentences. It asks gw_choose,
 * which is what a call asks, so the explanation cannot differ from what runs.
 */
#include "price.h"

#include "common/output.h"
#include "plan_source.h"

#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 32, SIZE_FIRST = 64, SIZE_LAST = 1 << 28 };

/* Fills `out` as gw_choose does for a message of `bytes`. */
static size_t choose(const struct price_question *question, uint64_t bytes,
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
                      : "built in; collrun calibrate measures them here");
    output_note_text(output, "costs", text);
}

static void explain_choice(struct output *output,
                           const struct price_question *question)
{
    struct gw_candidate best[CANDIDATES];
    char text[256], size[16];
    size_t found = choose(question, question->bytes, best);
    gw_format_bytes(question->bytes, size);
    if (found == 0)
        return;
    int used = snprintf(text, sizeof text,
                        "a call of %s among %u ranks takes %s: %.2f us "
                        "predicted",
                        size, question->ranks, best[0].algo->name,
                        best[0].predicted_us);
    if (found > 1)
        snprintf(text + used, sizeof text - (size_t)used,
                 ", %.2f times as fast as %s, the next (%.2f us)",
                 best[1].predicted_us / best[0].predicted_us,
                 best[1].algo->name, best[1].predicted_us);
    output_note_text(output, "choice", text);
}

/* "up to 16K one_shot, up to 4M partitioned, above ring" */
static void explain_sizes(struct output *output,
                          const struct price_question *question)
{
    struct gw_candidate best[CANDIDATES];
    char text[512] = "", size[16];
    const struct gw_algo *before = NULL;
    for (uint64_t bytes = SIZE_FIRST; bytes <= SIZE_LAST; bytes *= 2) {
        if (choose(question, bytes, best) == 0)
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
    if (question->collective != GW_BARRIER)
        explain_sizes(output, question);
}
