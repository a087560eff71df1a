/* SPDX-License-Identifier: MIT
 *
 * Plug-ins: code of one's own that gradwire calls, from a shared object. A
 * plug-in is one constant,
 *     const struct gw_plugin gw_plugin = {
 *         .version = GW_PLUGIN_VERSION,
 *         .kind = GW_PLUGIN_PLAN,
 *         .name = "mine",
 *         .summary = "what it does, in a line",
 *         .plan = &mine,
 *     };
 * and points to the plain struct of its kind, whose functions are pure: what
 * they return depends on what they are given, and on nothing else. It is built
 * with
 *     cc -shared -fPIC -I lib/include -o mine.so mine.c
 * and calls the library of the program that opens it. gradwire-plugin(7) has
 * the kinds, each with an example.
 */
#ifndef GRADWIRE_PLUGIN_H
#define GRADWIRE_PLUGIN_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_algo;
struct gw_straggler;
struct gw_placement;
struct gw_targets;
struct gw_suspicion;

/* Rises when a struct that plug-ins fill in changes. */
enum { GW_PLUGIN_VERSION = 1 };

/* A new kind adds a line here, a member to the union below, and its name to the
 * table of lib/base/plugin.c. */
enum gw_plugin_kind {
    GW_PLUGIN_PLAN,      /* emits a plan for any number of ranks */
    GW_PLUGIN_STRAGGLER, /* chooses K or S, after each round */
    GW_PLUGIN_PLACEMENT, /* says which servers have a slot */
    GW_PLUGIN_SUSPICION, /* whom an observer suspects */
    GW_PLUGIN_TARGETS,   /* what a learner learns from a trajectory */
    GW_PLUGIN_KINDS      /* how many there are */
};

struct gw_plugin {
    unsigned version; /* GW_PLUGIN_VERSION */
    enum gw_plugin_kind kind;
    const char *name;    /* what it is called where names are asked for */
    const char *summary; /* one line */
    union {              /* the one of its kind */
        const void *any;
        const struct gw_algo *plan;           /* gradwire/plan.h */
        const struct gw_straggler *straggler; /* gradwire/ps.h */
        const struct gw_placement *placement; /* gradwire/placement.h */
        const struct gw_suspicion *suspicion; /* gradwire/suspicion.h */
        const struct gw_targets *targets;     /* gradwire/actors.h */
    };
};

/* What a plug-in defines; no program has it. */
extern GW_API const struct gw_plugin gw_plugin;

/* "plan", "suspicion" */
GW_API const char *gw_plugin_kind_name(enum gw_plugin_kind kind);

/* Opens a shared object that must be a plug-in of that kind. A path without a
 * slash is a file of this directory. *plugin is valid until gw_plugin_close.
 * GW_EDATA, and *plugin is NULL: there is no such file, it is no shared object,
 * it needs symbols that there are not, it exports no gw_plugin, or that is of
 * another version or kind, or has no name, summary or policy; the sentence
 * begins with the path. Opening runs the constructors of the shared object. */
GW_API GW_MUST_CHECK enum gw_err gw_plugin_open(const char *path,
                                                enum gw_plugin_kind kind,
                                                struct gw_plugin **plugin,
                                                struct gw_error *why);
/* Nobody may call into the plug-in any more, or read its strings. */
GW_API void gw_plugin_close(struct gw_plugin **plugin);

#ifdef __cplusplus
}
#endif
#endif
