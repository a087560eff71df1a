/* SPDX-License-Identifier: MIT
 *
 * The monitored barrier, over the store, so that rank 0 can name the ranks that
 * do not come. Each rank sets a key; rank 0 waits for all of them, and answers.
 *
 * The words of the errors are those of Gloo, for which PyTorch's users search.
 */
#include "process_group.h"

#include <ATen/ATen.h>
#include <sstream>

namespace gradwire {

namespace {

using clock = std::chrono::steady_clock;

/* Rank 0 answers at the end of its own limit. */
constexpr milliseconds ANSWER_LIMIT{2000};
const char REACHED[] = " successfully reached monitoredBarrier, but received "
                       "errors while waiting for send/recv from rank 0. Please "
                       "check rank 0 logs for faulty rank.";

milliseconds left_until(clock::time_point until)
{
    return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(
                                         until - clock::now()));
}

bool comes(c10d::Store &store, const std::string &key, milliseconds limit)
{
    try {
        store.wait({key}, limit);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

/* Sets the key of this rank, and reads the answer. */
void report_to_rank_0(c10d::Store &store, const std::string &key, int rank,
                      milliseconds limit)
{
    store.set(key + std::to_string(rank), as_bytes("1"));
    TORCH_CHECK(comes(store, key + "end", limit + ANSWER_LIMIT),
                "[gradwire] Rank ", rank,
                " timed out in monitoredBarrier after ", limit.count(),
                " ms: rank 0 did not come. Rank ", rank, REACHED);
    auto text = as_text(store.get(key + "end"));
    TORCH_CHECK(text.empty(), "[gradwire] Rank ", rank, REACHED,
                " Rank 0: ", text);
}

std::string describe(const std::vector<int> &missing, bool all_ranks,
                     milliseconds limit)
{
    std::ostringstream text;
    if (missing.empty())
        return "";
    text << (missing.size() > 1 || all_ranks ? "Ranks " : "Rank ");
    for (size_t i = 0; i < missing.size(); i++)
        text << (i ? ", " : "") << missing[i];
    text << " failed to pass monitoredBarrier in " << limit.count() << " ms";
    return text.str();
}

/* Waits for all ranks, or for the first one that does not come. */
void wait_for_ranks(c10d::Store &store, const std::string &key, int size,
                    milliseconds limit, bool all_ranks)
{
    TORCH_CHECK(limit.count() > 0,
                "[gradwire] Rank 0 timed out in monitoredBarrier after ",
                limit.count(), " ms");
    auto until = clock::now() + limit;
    std::vector<int> missing;
    for (int i = 1; i < size && (missing.empty() || all_ranks); i++)
        if (!comes(store, key + std::to_string(i), left_until(until)))
            missing.push_back(i);
    auto text = describe(missing, all_ranks, limit);
    store.set(key + "end", as_bytes(text));
    TORCH_CHECK(missing.empty(), "[gradwire] Rank 0: ", text);
}

} // namespace

void GradwireGroup::monitoredBarrier(const c10d::BarrierOptions &o,
                                     bool all_ranks)
{
    auto limit = o.timeout == c10d::kUnsetTimeout ? place_.timeout : o.timeout;
    std::string key = "gradwire/barrier/" + std::to_string(monitored_++) + "/";
    if (getRank() == 0)
        wait_for_ranks(*place_.store, key, getSize(), limit, all_ranks);
    else
        report_to_rank_0(*place_.store, key, getRank(), limit);
}

} // namespace gradwire
