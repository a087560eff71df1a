/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One sentence from n endings. When a rank dies, its peers fail one after the
 * other, each with a true sentence about another rank, but a person wants the
 * first cause. So the order is: a rank that died by itself, a rank whose error
 * is a cause (a wrong call, a timeout), a rank whose only error is the loss of
 * a peer.
 */
#include "launch_parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static bool died(const struct ending *ending)
{
    if (ending->silent_ms > 0)
        return true;
    if (ending->killed)
        return false;
    return !ending->reported || !WIFEXITED(ending->status) ||
           WEXITSTATUS(ending->status) != 0;
}

static bool failed(const struct ending *ending)
{
    return ending->reported && ending->result.code != GW_OK;
}

static bool is_consequence(enum gw_err code)
{
    return code == GW_ELOST || code == GW_ECLOSED;
}

/* The rank that died first; `ranks` when none did. */
static unsigned first_dead(const struct ending *endings, unsigned ranks)
{
    unsigned first = ranks;
    for (unsigned i = 0; i < ranks; i++)
        if (died(&endings[i]) &&
            (first == ranks || endings[i].turn < endings[first].turn))
            first = i;
    return first;
}

/* The lowest rank that failed with a cause, or else with a consequence. */
static unsigned first_failed(const struct ending *endings, unsigned ranks,
                             bool consequence)
{
    for (unsigned i = 0; i < ranks; i++)
        if (failed(&endings[i]) &&
            is_consequence(endings[i].result.code) == consequence)
            return i;
    return ranks;
}

const char *rank_called(const struct ending *endings, const char *name,
                        unsigned rank, char out[RANK_CALLED_MAX])
{
    if (endings[rank].name[0])
        return endings[rank].name;
    snprintf(out, RANK_CALLED_MAX, "%s %u", name, rank);
    return out;
}

/* The cause of death, after "rank 2 (pid 4711) ". */
static void obituary(const struct ending *ending, char *text, size_t bytes)
{
    char end[PROCESS_END_MAX];
    if (ending->host[0])
        snprintf(text, bytes, "ended without a result");
    else if (ending->silent_ms > 0)
        snprintf(text, bytes, "did not respond for %u ms (stopped or hanging)",
                 ending->silent_ms);
    else
        snprintf(
            text, bytes, "%s%s%s", WIFSIGNALED(ending->status) ? "was " : "",
            process_end(ending->status, end),
            WIFSIGNALED(ending->status) || ending->reported || ending->program
                ? ""
                : " without a result");
}

/* "; 2 more died" and the sentence of one survivor. */
static enum gw_err report_death(const struct ending *endings, unsigned ranks,
                                unsigned dead, const char *name,
                                struct gw_error *why)
{
    char how[128], more[32] = "", who[128], called[RANK_CALLED_MAX];
    const struct ending *first = &endings[dead];
    snprintf(who, sizeof who, "%s (pid %d%s%s)",
             rank_called(endings, name, dead, called), (int)first->pid,
             first->host[0] ? " on " : "", first->host);
    obituary(&endings[dead], how, sizeof how);
    unsigned others = 0;
    for (unsigned i = 0; i < ranks; i++)
        others += i != dead && died(&endings[i]);
    if (others > 0)
        snprintf(more, sizeof more, "; %u more failed", others);
    unsigned witness = first_failed(endings, ranks, true);
    if (witness == ranks)
        witness = first_failed(endings, ranks, false);
    if (witness == ranks)
        return gw_fail(why, GW_ELOST, "%s %s%s", who, how, more);
    return gw_fail(why, GW_ELOST, "%s %s%s; %s: %s", who, how, more,
                   rank_called(endings, name, witness, called),
                   endings[witness].result.text);
}

static const char *state_words(char state)
{
    switch (state) {
    case 'R':
        return " (it was running, or waiting for a CPU)";
    case 'D':
        return " (it was waiting in the kernel)";
    case 'T':
    case 't':
        return " (it was stopped)";
    case 0:
        return "";
    default:
        return " (it was asleep)";
    }
}

enum gw_err verdict_of(const struct ending *endings, unsigned ranks,
                       const char *name, struct gw_error *why)
{
    char called[RANK_CALLED_MAX];
    unsigned dead = first_dead(endings, ranks);
    if (dead < ranks)
        return report_death(endings, ranks, dead, name, why);
    unsigned rank = first_failed(endings, ranks, false);
    if (rank == ranks)
        rank = first_failed(endings, ranks, true);
    if (rank < ranks)
        return gw_fail(why, endings[rank].result.code, "%s: %s",
                       rank_called(endings, name, rank, called),
                       endings[rank].result.text);
    for (unsigned i = 0; i < ranks; i++)
        if (endings[i].killed)
            return gw_fail(why, GW_EINTERNAL, "%s (pid %d) did not finish%s%s",
                           rank_called(endings, name, i, called),
                           (int)endings[i].pid,
                           endings[i].reported ? " after its result" : "",
                           state_words(endings[i].state));
    return GW_OK;
}
