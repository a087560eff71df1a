/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun topo: prints a topology, which may be another program's
 * (topo_import.h).
 */
#include "collrun/collrun.h"
#include "common/cluster.h"
#include "topo_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *format = "topo";

static const struct option_spec options[] = {
    {"from", 'f', OPTION_CHOICE, &format, "FORMAT",
     "Format of FILE: the text of a topology, the matrix of nvidia-smi topo "
     "-m, "
     "or the XML of hwloc, NCCL or SimGrid.",
     "topo|nvidia-smi-topo|hwloc|xml"},
    {0},
};

static enum gw_err read_all(const char *path, char **bytes, size_t *length,
                            struct gw_error *why)
{
    enum { BYTES_MAX = 16 << 20 };
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    *length = 0;
    *bytes = file ? malloc(BYTES_MAX + 1) : NULL;
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    if (*bytes)
        *length = fread(*bytes, 1, BYTES_MAX + 1, file);
    bool failed = ferror(file) != 0;
    if (file != stdin)
        fclose(file);
    if (!*bytes)
        return gw_fail(why, GW_ENOMEM, "%.200s", path);
    if (failed)
        return gw_fail(why, GW_EDATA, "%.200s: cannot be read", path);
    if (*length > BYTES_MAX)
        return gw_fail(why, GW_EDATA, "%.200s: more than 16 MiB", path);
    (*bytes)[*length] = 0;
    return GW_OK;
}

/* The text of another program becomes that of a topology, which is parsed. */
static enum gw_err import_text(const struct topo_source *source,
                               struct gw_topology **topology,
                               struct gw_error *why)
{
    enum gw_err err = strcmp(format, "nvidia-smi-topo") == 0
                          ? topo_read_smi(source, why)
                          : topo_read_xml(source, why);
    if (!err && source->text->full)
        err = gw_fail(why, GW_ENOMEM, "%.200s", source->name);
    if (!err)
        err = gw_topology_parse(source->text->bytes, source->text->length,
                                source->name, topology, why);
    return err;
}

static enum gw_err get_topology(const char *path, struct gw_topology **topology,
                                struct gw_error *why)
{
    struct topo_text text = {0};
    struct topo_source source = {.name = path, .text = &text};
    char *bytes = NULL;
    *topology = NULL;
    if (strcmp(format, "topo") == 0)
        return cluster_get(path, 0, topology, why);
    enum gw_err err = read_all(path, &bytes, &source.length, why);
    source.bytes = bytes;
    if (!err)
        err = import_text(&source, topology, why);
    free(bytes);
    topo_text_free(&text);
    return err;
}

static int run_topo(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_topology *topology;
    (void)operand_count;
    enum gw_err err = get_topology(operands[0], &topology, &why);
    if (!err)
        err = gw_topology_print(topology, stdout, &why);
    gw_topology_destroy(&topology);
    return err ? complain(&why) : 0;
}

const struct command command_topo = {
    .name = "topo",
    .operands = "FILE|-",
    .help = "print a topology, also from nvidia-smi, hwloc, NCCL or SimGrid",
    .examples = "collrun topo torus:4x4\n"
                "nvidia-smi topo -m | collrun topo --from nvidia-smi-topo -\n"
                "lstopo -.xml | collrun topo --from hwloc - > here.topo\n"
                "collrun topo --from xml nccl.xml > here.topo\n",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_topo,
};
