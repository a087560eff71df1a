/* SPDX-License-Identifier: MIT
 *
 * The text form of modes and updaters: "bsp", "ssp:2", "asp", "kofn:3",
 * "bsp+drop".
 */
#include <gradwire/ps.h>

#include <stdio.h>
#include <string.h>

static const char *const updaters[GW_PS_UPDATERS] = {
    [GW_PS_ADD] = "add",         [GW_PS_ASSIGN] = "assign",
    [GW_PS_SGD] = "sgd",         [GW_PS_MOMENTUM] = "momentum",
    [GW_PS_ADAGRAD] = "adagrad", [GW_PS_ADAM] = "adam",
    [GW_PS_FTRL] = "ftrl",       [GW_PS_CALLBACK] = "callback",
};

/* Bounds are in [least, most]; most 0: the mode has no bound. A round has at
 * most 64 parts, so a larger K could never be reached. */
static const struct {
    const char *name;
    unsigned least, most;
} modes[GW_PS_MODES] = {
    [GW_PS_BSP] = {"bsp", 0, 0},
    [GW_PS_SSP] = {"ssp", 0, 1000000},
    [GW_PS_ASP] = {"asp", 0, 0},
    [GW_PS_KOFN] = {"kofn", 1, 64},
};

const char *gw_ps_updater_name(enum gw_ps_updater updater)
{
    return updater < GW_PS_UPDATERS ? updaters[updater] : "?";
}

/* Parses up to 9 digits; *text then points to the rest of the mode. */
static bool parse_bound(const char **text, unsigned *bound)
{
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 9)
        return false;
    *bound = 0;
    for (; digits > 0; digits--)
        *bound = *bound * 10 + (unsigned)(*(*text)++ - '0');
    return true;
}

/* Parses "" or the handling of a dead worker's share. */
static bool parse_drop(const char *text, bool *drop)
{
    *drop = strcmp(text, "+drop") == 0;
    return *drop || !*text;
}

static enum gw_err refuse_bound(const char *text, unsigned kind,
                                struct gw_error *why)
{
    if (modes[kind].most == 0)
        return gw_fail(why, GW_EINVAL, "\"%.40s\": %s does not take a number",
                       text, modes[kind].name);
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a mode; write %s:N, with N from %u to %u",
                   text, modes[kind].name, modes[kind].least, modes[kind].most);
}

enum gw_err gw_ps_mode_parse(const char *text, struct gw_ps_mode *mode,
                             struct gw_error *why)
{
    size_t length = strcspn(text, ":+");
    bool numbered = text[length] == ':';
    for (unsigned kind = 0; kind < GW_PS_MODES; kind++) {
        if (strlen(modes[kind].name) != length ||
            strncmp(text, modes[kind].name, length) != 0)
            continue;
        unsigned bound = 0;
        const char *rest = text + length + numbered;
        bool drop;
        if (numbered != (modes[kind].most > 0) ||
            (numbered && !parse_bound(&rest, &bound)) ||
            bound < modes[kind].least || bound > modes[kind].most)
            return refuse_bound(text, kind, why);
        if (!parse_drop(rest, &drop))
            return gw_fail(why, GW_EINVAL,
                           "\"%.40s\": only +drop may follow the mode", text);
        *mode = (struct gw_ps_mode){(enum gw_ps_mode_kind)kind, bound, drop};
        return GW_OK;
    }
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is not a mode; use bsp, ssp:S, asp or kofn:K, "
                   "each with or without +drop",
                   text);
}

char *gw_ps_mode_print(const struct gw_ps_mode *mode, char *out, size_t room)
{
    if (mode->kind >= GW_PS_MODES)
        snprintf(out, room, "?");
    else if (modes[mode->kind].most == 0)
        snprintf(out, room, "%s%s", modes[mode->kind].name,
                 mode->drop ? "+drop" : "");
    else
        snprintf(out, room, "%s:%u%s", modes[mode->kind].name, mode->bound,
                 mode->drop ? "+drop" : "");
    return out;
}
