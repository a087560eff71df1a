/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrix of `nvidia-smi topo -m`. A cell is the way between two devices:
 *
 *     NV#        # bonded NVLinks
 *     PIX, PXB   one or several PCIe bridges, no host bridge
 *     PHB        the host bridge of a socket
 *     NODE       several host bridges of a socket
 *     SYS        two sockets
 *
 * Devices with PIX or PXB between them share a PCIe switch; those with PHB or
 * NODE, or with the same CPU affinity, a socket. Between two GPUs with NVLinks
 * the matrix does not have the way over PCIe. If all GPUs have as many NVLinks
 * to each other as a GPU has in all, these go to an NVSwitch.
 */
#include "topo_graph.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 64, CELL_BYTES = 24, NVLINKS_PER_GPU = 18 };

struct matrix {
    const struct topo_source *source;
    struct gw_error *why;
    unsigned count, line;
    char name[DEVICES_MAX][32];
    char cell[DEVICES_MAX][DEVICES_MAX][CELL_BYTES];
    char affinity[DEVICES_MAX][64];
    bool has_row[DEVICES_MAX];
    int bridge[DEVICES_MAX], socket[DEVICES_MAX]; /* groups: the least member */
    int node[DEVICES_MAX];
    struct topo_graph graph;
};

/* ---- reading ---- */

/* The next word of a line, without the escapes of a terminal; false: the line
 * has no more. */
static bool next_cell(const char **at, char word[64])
{
    size_t length = 0;
    for (;; (*at)++) {
        if (**at == '\033')
            *at += strcspn(*at, "m\n");
        else if (**at != ' ' && **at != '\t' && **at != '\r')
            break;
    }
    while (**at && !isspace((unsigned char)**at)) {
        if (**at == '\033') {
            *at += strcspn(*at, "m\n");
            *at += **at == 'm';
            continue;
        }
        if (length < 63)
            word[length++] = **at;
        (*at)++;
    }
    word[length] = 0;
    return length > 0;
}

static enum gw_err fail_at(struct matrix *m, const char *text, const char *word)
{
    return gw_fail(m->why, GW_EDATA, "%.80s:%u: %s `%.40s`", m->source->name,
                   m->line, text, word);
}

/* The names of the devices, up to the column of the affinity. */
static enum gw_err read_header(struct matrix *m, const char *line)
{
    char word[64];
    while (next_cell(&line, word) && strcmp(word, "CPU") != 0) {
        if (m->count == DEVICES_MAX)
            return fail_at(m, "more than 64 devices: one too many is", word);
        snprintf(m->name[m->count++], 32, "%.31s", word);
    }
    return GW_OK;
}

static bool is_cell(const char *word)
{
    static const char *const words[] = {"X",   "SYS", "NODE", "PHB",
                                        "PXB", "PIX", NULL};
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return strncmp(word, "NV", 2) == 0 && atoi(word + 2) > 0 &&
           strlen(word) <= 4;
}

static int find_device(const struct matrix *m, const char *name)
{
    for (unsigned i = 0; i < m->count; i++)
        if (strcmp(m->name[i], name) == 0)
            return (int)i;
    return TOPO_NONE;
}

static enum gw_err read_row(struct matrix *m, const char *line)
{
    char word[64] = "";
    next_cell(&line, word);
    int row = find_device(m, word);
    if (row == TOPO_NONE)
        return GW_OK; /* the legend */
    if (m->has_row[row])
        return fail_at(m, "a second row of", word);
    m->has_row[row] = true;
    for (unsigned i = 0; i < m->count; i++) {
        if (!next_cell(&line, word) || !is_cell(word))
            return fail_at(m,
                           "each column needs X, SYS, NODE, PHB, PXB, PIX or "
                           "NV and a number; this is",
                           word);
        snprintf(m->cell[row][i], CELL_BYTES, "%.23s", word);
    }
    if (next_cell(&line, word) && strcmp(word, "N/A") != 0)
        snprintf(m->affinity[row], sizeof m->affinity[row], "%s", word);
    return GW_OK;
}

static enum gw_err read_matrix(struct matrix *m)
{
    const char *at = m->source->bytes, *end = at + m->source->length;
    enum gw_err err = GW_OK;
    for (; at < end && !err; at++) {
        char line[4096];
        size_t length = strcspn(at, "\n");
        m->line++;
        snprintf(line, sizeof line, "%.*s",
                 (int)(length < 4095 ? length : 4095), at);
        at += length;
        if (m->count > 0)
            err = read_row(m, line);
        else if (strstr(line, "GPU0"))
            err = read_header(m, line);
    }
    for (unsigned i = 0; i < m->count && !err; i++)
        if (!m->has_row[i])
            err = fail_at(m, "the matrix lacks the row of", m->name[i]);
    return err || m->count > 0
               ? err
               : fail_at(m, "no line has the names of the columns, such as",
                         "GPU0");
}

/* ---- groups ---- */

static void merge(int *group, unsigned count, int a, int b)
{
    int from = group[a] > group[b] ? group[a] : group[b];
    int to = group[a] > group[b] ? group[b] : group[a];
    for (unsigned i = 0; i < count; i++)
        if (group[i] == from)
            group[i] = to;
}

static void form_groups(struct matrix *m)
{
    for (unsigned i = 0; i < m->count; i++)
        m->bridge[i] = m->socket[i] = (int)i;
    for (int a = 0; a < (int)m->count; a++)
        for (int b = 0; b < a; b++) {
            const char *cell = m->cell[a][b];
            bool bridge = strcmp(cell, "PIX") == 0 || strcmp(cell, "PXB") == 0;
            bool socket =
                bridge || strcmp(cell, "PHB") == 0 || strcmp(cell, "NODE") == 0;
            bool together =
                *m->affinity[a] && strcmp(m->affinity[a], m->affinity[b]) == 0;
            if (bridge)
                merge(m->bridge, m->count, a, b);
            if (socket || together)
                merge(m->socket, m->count, a, b);
        }
}

/* ---- the graph ---- */

static bool is_gpu(const struct matrix *m, unsigned i)
{
    return strncmp(m->name[i], "GPU", 3) == 0;
}

static void add_devices(struct matrix *m)
{
    for (unsigned i = 0; i < m->count; i++) {
        char name[32];
        topo_text_name(m->name[i], name);
        for (char *c = name; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        m->node[i] = topo_graph_node(
            &m->graph, is_gpu(m, i) ? TOPO_ACCELERATOR : TOPO_NIC, name);
    }
}

/* The number of devices in the group of `i`. */
static unsigned group_size(const struct matrix *m, unsigned i)
{
    unsigned size = 0;
    for (unsigned d = 0; d < m->count; d++)
        size += m->bridge[d] == m->bridge[i];
    return size;
}

static void add_pcie(struct matrix *m)
{
    int socket[DEVICES_MAX] = {0}, bridge[DEVICES_MAX] = {0};
    for (unsigned i = 0; i < m->count; i++) {
        int s = m->socket[i], b = m->bridge[i];
        char name[32];
        snprintf(name, sizeof name, "cpu%u",
                 topo_graph_count(&m->graph, TOPO_SOCKET));
        if (s == (int)i)
            socket[i] = topo_graph_node(&m->graph, TOPO_SOCKET, name);
        snprintf(name, sizeof name, "pcie%u",
                 topo_graph_count(&m->graph, TOPO_SWITCH));
        if (b == (int)i && group_size(m, i) > 1) {
            bridge[i] = topo_graph_node(&m->graph, TOPO_SWITCH, name);
            topo_graph_link(&m->graph, "pcie", socket[s], bridge[i],
                            TOPO_PCIE_RATE);
        }
        topo_graph_link(&m->graph, "pcie",
                        group_size(m, i) > 1 ? bridge[b] : socket[s],
                        m->node[i], TOPO_PCIE_RATE);
    }
    topo_graph_join_sockets(&m->graph);
}

static int nvlinks(const struct matrix *m, unsigned a, unsigned b)
{
    return strncmp(m->cell[a][b], "NV", 2) == 0 ? atoi(m->cell[a][b] + 2) : 0;
}

/* The NVLinks of each GPU to a switch; 0: they go to other GPUs. */
static int switched_nvlinks(const struct matrix *m)
{
    int links = -1, gpus = 0;
    for (unsigned a = 0; a < m->count; a++) {
        gpus += is_gpu(m, a);
        for (unsigned b = 0; b < a && is_gpu(m, a); b++)
            if (is_gpu(m, b)) {
                int now = nvlinks(m, a, b);
                links = links < 0 || links == now ? now : 0;
            }
    }
    return links * (gpus - 1) > NVLINKS_PER_GPU ? links : 0;
}

static void add_nvlinks(struct matrix *m)
{
    int switched = switched_nvlinks(m);
    int nvswitch = switched > 0
                       ? topo_graph_node(&m->graph, TOPO_SWITCH, "nvswitch")
                       : TOPO_NONE;
    for (unsigned a = 0; a < m->count; a++) {
        if (switched > 0 && is_gpu(m, a))
            topo_graph_link(&m->graph, "nvlink", nvswitch, m->node[a],
                            TOPO_NVLINK_RATE * (uint64_t)switched);
        for (unsigned b = a + 1; b < m->count && switched == 0; b++)
            if (nvlinks(m, a, b) > 0)
                topo_graph_link(&m->graph, "nvlink", m->node[a], m->node[b],
                                TOPO_NVLINK_RATE * (uint64_t)nvlinks(m, a, b));
    }
}

enum gw_err topo_read_smi(const struct topo_source *source,
                          struct gw_error *why)
{
    struct matrix *m = calloc(1, sizeof *m);
    if (!m)
        return gw_fail(why, GW_ENOMEM, "%.80s", source->name);
    m->source = source;
    m->why = why;
    enum gw_err err = read_matrix(m);
    if (!err) {
        form_groups(m);
        add_devices(m);
        add_pcie(m);
        add_nvlinks(m);
        topo_graph_write(&m->graph, "nvidia-smi", source->text);
    }
    free(m);
    return err;
}
