/* SPDX-License-Identifier: MIT
 *
 * Numbers and durations in fault schedules and topologies; see faults_words.h.
 */
#include "faults_words.h"
#include "faults.h"

#include <string.h>

bool gw__parse_span(struct gw__words *words, size_t begin, size_t end,
                    uint64_t *ns)
{
    char text[48] = "";
    struct gw_error why;
    struct gw__source *source = &words->source;
    size_t length = end - begin;
    if (length == 0)
        return gw__expected(words, begin, "a duration, such as 20ms");
    if (length >= sizeof text)
        return gw__source_fail(source, begin, "the duration is too long");
    memcpy(text, source->text + begin, length);
    if (gw_parse_duration(text, ns, &why))
        return gw__source_fail(source, begin, "%s", why.text);
    if (*ns > GW__FAULT_NS_MAX)
        return gw__source_fail(source, begin, "%s is longer than a day", text);
    return true;
}

bool gw__parse_number(struct gw__words *words, size_t *at, uint32_t most,
                      const char *what, uint32_t *number)
{
    size_t begin = *at;
    uint64_t value = 0;
    if (begin >= words->end || !gw__is_digit(gw__byte_at(words, begin)))
        return gw__expected(words, begin, what);
    for (; gw__is_digit(gw__byte_at(words, *at)); ++*at) {
        value = 10 * value + (uint64_t)(gw__byte_at(words, *at) - '0');
        if (value > most)
            return gw__source_fail(&words->source, begin,
                                   "the number must be at most %u", most);
    }
    *number = (uint32_t)value;
    return true;
}
