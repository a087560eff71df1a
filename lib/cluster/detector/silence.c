/* SPDX-License-Identifier: MIT
 *
 * One member's silence; see silence.h.
 */
#include "silence.h"

/* A look at the process is worth its cost after this number of missing
 * beats. */
enum { INSPECT_AFTER = 2 };

void gw__silence_begin(struct gw__silence *s,
                       const struct gw__phi_config *config, uint64_t now_ns)
{
    *s = (struct gw__silence){.contact_ns = now_ns};
    gw__phi_begin(&s->phi, config, now_ns);
}

void gw__silence_end(struct gw__silence *s, uint64_t now_ns)
{
    gw__phi_beat(&s->phi, now_ns);
    if (now_ns > s->contact_ns)
        s->contact_ns = now_ns;
    s->stopped_ns = s->excused_ns = 0;
}

/* An observer that was stopped together with the member has not observed the
 * stop, so its time begins again. */
void gw__silence_shift(struct gw__silence *s, uint64_t ns, uint64_t now_ns)
{
    gw__phi_shift(&s->phi, ns, now_ns);
    if (s->stopped_ns)
        s->stopped_ns =
            s->stopped_ns + ns < now_ns ? s->stopped_ns + ns : now_ns;
}

bool gw__silence_needs_inspection(const struct gw__silence *s, uint64_t now_ns)
{
    return now_ns > s->contact_ns &&
           now_ns - s->contact_ns >= INSPECT_AFTER * s->phi.config.expected_ns;
}

void gw__silence_sight(struct gw__silence *s, const struct gw__sight *sight,
                       uint64_t late_ns, uint64_t now_ns)
{
    uint64_t ns = sight->waited_ns > late_ns ? sight->waited_ns - late_ns : 0;
    uint64_t left_ns = GW__EXCUSED_MOST_NS - s->excused_ns;
    if (sight->state == GW__SIGHT_STOPPED) {
        s->stopped_ns = s->stopped_ns ? s->stopped_ns : now_ns;
        return;
    }
    s->stopped_ns = 0;
    if (ns > left_ns)
        ns = left_ns;
    s->excused_ns += ns;
    gw__phi_shift(&s->phi, ns, now_ns);
}

/* Neither the spread of its intervals nor the observer's health explains a
 * stop, so only the rule decides. The member must be seen stopped for the time
 * of an allowed pause. This excludes a member that was stopped but has just
 * continued. */
static bool is_stop(const struct gw__silence *s, double threshold,
                    uint64_t now_ns)
{
    return s->stopped_ns && now_ns > s->contact_ns &&
           now_ns - s->stopped_ns >= s->phi.config.pause_ns &&
           gw__phi_by_config(&s->phi.config, now_ns - s->contact_ns) >=
               threshold;
}

bool gw__silence_is_long(const struct gw__silence *s, double threshold,
                         unsigned factor, uint64_t now_ns)
{
    return is_stop(s, threshold, now_ns) ||
           gw__phi_now(&s->phi, now_ns) >= threshold * factor;
}
