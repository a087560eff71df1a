/* SPDX-License-Identifier: MIT
 *
 * Plug-ins: a program's own code that gradwire calls, from a shared object. A
 * plug-in is one constant,
 *     const struct gw_plugin gw_plugin = {
 *         .version = GW_PLUGIN_VERSION,
 *         .kind = GW_PLUGIN_PLAN,
 *         .name = "mine",
 *         .summary = "its purpose, in a line",
 *         .plan = &mine,
 *     };
 * and points to the plain struct of its kind. The functions of that struct are
 * pure: their results depend only on their arguments. A plug-in is built with
 *     cc -shared -fPIC -I lib/include -o mine.so mine.c
 * and calls the library of the program that opens it. gradwire-plugin(7)
 * describes the kinds, each with an example.
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

/* Grows when a struct that plug-ins fill in changes. */
enum { GW_PLUGIN_VERSION = 1 };

/* The kinds of plug-ins. A new kind adds a line here, a member to the union
 * below, and its name to the table of lib/base/plugin.c. */
enum gw_plugin_kind {
    GW_PLUGIN_PLAN,      /* emits a plan for any number of ranks */
    GW_PLUGIN_STRAGGLER, /* chooses K or S after each round */
    GW_PLUGIN_PLACEMENT, /* assigns slots to servers */
    GW_PLUGIN_SUSPICION, /* decides when an observer suspects a member */
    GW_PLUGIN_TARGETS,   /* computes a learner's targets of a trajectory */
    GW_PLUGIN_KINDS      /* number of kinds */
};

/* A plug-in. */
struct gw_plugin {
    unsigned version; /* GW_PLUGIN_VERSION */
    enum gw_plugin_kind kind;
    const char *name;    /* in the output of the tools */
    const char *summary; /* one line */
    union {              /* the member of its kind */
        const void *any;
        const struct gw_algo *plan;           /* gradwire/plan.h */
        const struct gw_straggler *straggler; /* gradwire/ps_mode.h */
        const struct gw_placement *placement; /* gradwire/placement.h */
        const struct gw_suspicion *suspicion; /* gradwire/suspicion.h */
        const struct gw_targets *targets;     /* gradwire/actors.h */
    };
};

/* The constant that a plug-in defines; programs do not define it. */
extern GW_API const struct gw_plugin gw_plugin;

/* Returns the name of a kind: "plan", "suspicion". */
GW_API const char *gw_plugin_kind_name(enum gw_plugin_kind kind);

/* Opens a shared object that must be a plug-in of that kind. A path without a
 * slash is a file of this directory. *plugin is valid until gw_plugin_close.
 * Opening runs the constructors of the shared object.
 * GW_EDATA: the file does not exist, is not a shared object, needs unknown
 * symbols, does not export gw_plugin, or exports one of another version or kind
 * or without name, summary or policy. The sentence begins with the path, and
 * *plugin is NULL. */
GW_API GW_MUST_CHECK enum gw_err gw_plugin_open(const char *path,
                                                enum gw_plugin_kind kind,
                                                struct gw_plugin **plugin,
                                                struct gw_error *why);
/* Closes a plug-in and sets the pointer to NULL. Its functions and strings must
 * not be used any more. */
GW_API void gw_plugin_close(struct gw_plugin **plugin);

#ifdef __cplusplus
}
#endif
#endif
