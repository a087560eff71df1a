/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The default values of options. An option's default is the value of its target
 * before the command line is parsed. A shell parses many lines, so it keeps
 * these values and restores them before each line.
 */
#include "internal.h"

#include <assert.h>
#include <string.h>

enum { KEPT_MAX = 256 };

static struct kept {
    void *target;
    size_t bytes;
    unsigned char value[8];
} kept[KEPT_MAX];
static unsigned kept_count;

static size_t option_bytes(enum option_kind kind)
{
    switch (kind) {
    case OPTION_FLAG:
        return sizeof(bool);
    case OPTION_UNSIGNED:
    case OPTION_COUNT:
        return sizeof(unsigned);
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_SEED:
        return sizeof(uint64_t);
    case OPTION_REAL:
        return sizeof(double);
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_CHOICE:
        return sizeof(const char *);
    }
    return 0;
}

static void keep_defaults(const struct option_spec *spec)
{
    for (; spec && spec->name; spec++) {
        assert(kept_count < KEPT_MAX);
        struct kept *k = &kept[kept_count++];
        k->target = spec->target;
        k->bytes = option_bytes(spec->kind);
        assert(k->bytes <= sizeof k->value);
        memcpy(k->value, k->target, k->bytes);
    }
}

void options_keep(void)
{
    const struct command *command;
    if (kept_count)
        return;
    keep_defaults(common_specs);
    keep_defaults(the_tool->options);
    if (the_tool->shell)
        keep_defaults(the_tool->shell->options);
    for (unsigned i = 0; (command = command_at(i)); i++)
        keep_defaults(command->options);
}

void options_restore(void)
{
    for (unsigned i = 0; i < kept_count; i++)
        memcpy(kept[i].target, kept[i].value, kept[i].bytes);
}
