/* SPDX-License-Identifier: MIT
 *
 * ForestColl's spanning trees (arXiv 2402.06787): trees with a root each, whose
 * edges pass the root's chunks on. Together they are an all-gather.
 *
 *     <trees nranks=".." nchunks="..">
 *       <tree root="(0, 'GPU', 0)" index="0" nchunks="1" height="5">
 *         <send src=".." dst=".." path=".."/>
 *
 * A rank's number is the place of its name among the roots. The path, over
 * switches, has no meaning for a plan.
 */
#include "copies.h"
#include "formats.h"
#include "xml.h"

#include <stdlib.h>
#include <string.h>

enum { TREE_RANKS_MAX = 4096, TREE_CHUNKS_MAX = 1 << 12 };

struct tree {
    uint32_t element; /* <tree> */
    unsigned root, index, begin, chunks;
};

struct forest {
    const struct gw__xml *xml;
    struct tree *trees;
    unsigned tree_count;
    const char **names; /* of the ranks */
    unsigned *shares;   /* chunks of each rank so far */
    unsigned ranks;
    struct gw_error *why;
};

static enum gw_err refuse_tree(const struct forest *f, size_t element,
                               const char *reason, const char *detail)
{
    return gw_fail(f->why, GW_EDATA, "%.200s:%u: <%.16s>: %s%.64s",
                   f->xml->name, f->xml->elements[element].line,
                   f->xml->elements[element].name, reason, detail);
}

static unsigned find_name(const struct forest *f, const char *name)
{
    unsigned rank = 0;
    while (rank < f->ranks && strcmp(f->names[rank], name) != 0)
        rank++;
    return rank;
}

static bool unsigned_of(const char *text, unsigned long most, unsigned *number)
{
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    if (!text || end == text || *end || value > most || *text == '-')
        return false;
    *number = (unsigned)value;
    return true;
}

static enum gw_err read_tree(struct forest *f, uint32_t element)
{
    const char *root = gw__xml_value(f->xml, element, "root");
    struct tree *tree = &f->trees[f->tree_count++];
    *tree = (struct tree){.element = element};
    if (!root)
        return refuse_tree(f, element, "the attribute root is missing", "");
    if (!unsigned_of(gw__xml_value(f->xml, element, "index"), TREE_CHUNKS_MAX,
                     &tree->index))
        return refuse_tree(
            f, element, "the attribute index is missing or not a number", "");
    if (!unsigned_of(gw__xml_value(f->xml, element, "nchunks"), TREE_CHUNKS_MAX,
                     &tree->chunks) ||
        tree->chunks == 0)
        return refuse_tree(f, element,
                           "the attribute nchunks must be in 1..4096", "");
    tree->root = find_name(f, root);
    if (tree->root == TREE_RANKS_MAX)
        return refuse_tree(f, element, "there are more than 4096 roots", "");
    if (tree->root == f->ranks)
        f->names[f->ranks++] = root;
    for (unsigned t = 0; t + 1 < f->tree_count; t++)
        if (f->trees[t].root == tree->root && f->trees[t].index == tree->index)
            return refuse_tree(f, element,
                               "this root and index occur twice: ", root);
    tree->begin = f->shares[tree->root];
    f->shares[tree->root] += tree->chunks;
    return GW_OK;
}

static enum gw_err read_trees(struct forest *f)
{
    enum gw_err err = GW_OK;
    for (uint32_t e = 0; e < f->xml->count && !err; e++) {
        const char *name = f->xml->elements[e].name;
        int parent = f->xml->elements[e].parent;
        bool inside =
            parent >= 0 && strcmp(f->xml->elements[parent].name, "tree") == 0;
        if (strcmp(name, "tree") == 0 && !inside)
            err = read_tree(f, e);
        else if (strcmp(name, "trees") != 0 &&
                 !(strcmp(name, "send") == 0 && inside))
            err = refuse_tree(f, e, "this element does not belong here", "");
    }
    for (unsigned rank = 1; rank < f->ranks && !err; rank++)
        if (f->shares[rank] != f->shares[0])
            err = refuse_tree(f, 0,
                              "all roots must have the same number of chunks, "
                              "unlike ",
                              f->names[rank]);
    if (!err && f->tree_count == 0)
        err = refuse_tree(f, 0, "there is no <tree>", "");
    return err;
}

static enum gw_err send_chunks(const struct forest *f, const struct tree *tree,
                               uint32_t element, struct gw__copies *copies)
{
    const char *from = gw__xml_value(f->xml, element, "src");
    const char *to = gw__xml_value(f->xml, element, "dst");
    if (!from || !to)
        return refuse_tree(f, element, "the attribute src or dst is missing",
                           "");
    unsigned src = find_name(f, from), dst = find_name(f, to);
    if (src == f->ranks || dst == f->ranks)
        return refuse_tree(f, element, "this is the root of no tree: ",
                           src == f->ranks ? from : to);
    unsigned first = tree->root * f->shares[0] + tree->begin;
    if (!gw__copies_holds(copies, src, first))
        return refuse_tree(f, element, "the tree has not reached ", from);
    if (gw__copies_holds(copies, dst, first))
        return refuse_tree(f, element, "the tree reaches twice ", to);
    enum gw_err err = GW_OK;
    for (unsigned k = 0; k < tree->chunks && !err; k++)
        err = gw__copies_send(copies, gw__copies_value(copies, src, first + k),
                              dst, 0, f->why);
    return err;
}

static enum gw_err grow_trees(const struct forest *f, struct gw__copies *copies)
{
    enum gw_err err = GW_OK;
    for (unsigned t = 0; t < f->tree_count && !err; t++) {
        uint32_t e = f->trees[t].element + 1;
        for (; e < f->xml->count && !err &&
               f->xml->elements[e].parent == (int)f->trees[t].element;
             e++)
            err = send_chunks(f, &f->trees[t], e, copies);
    }
    return err;
}

static const struct tree *tree_of(const struct forest *f, unsigned chunk)
{
    unsigned t = 0;
    for (; t + 1 < f->tree_count; t++) {
        unsigned first = f->trees[t].root * f->shares[0] + f->trees[t].begin;
        if (chunk >= first && chunk < first + f->trees[t].chunks)
            break;
    }
    return &f->trees[t];
}

static enum gw_err plan_forest(const struct forest *f, struct gw_plan **plan)
{
    struct gw__copies copies;
    unsigned rank, chunk;
    const struct gw_plan shape = {.collective = GW_ALLGATHER,
                                  .ranks = f->ranks,
                                  .chunks = f->ranks * f->shares[0]};
    enum gw_err err = gw__copies_init(&copies, &shape, f->why);
    if (!err)
        err = grow_trees(f, &copies);
    if (!err && gw__copies_missing(&copies, &rank, &chunk))
        err = refuse_tree(f, tree_of(f, chunk)->element,
                          "the result is incomplete: the tree does not reach ",
                          f->names[rank]);
    if (!err)
        err = gw__copies_plan(&copies, "forest", plan, f->why);
    gw__copies_fini(&copies);
    return err;
}

enum gw_err gw__trees_import(const struct gw__xml *xml, struct gw_plan **plan,
                             struct gw_error *why)
{
    struct gw_error reason = {0};
    struct forest f = {
        .xml = xml,
        .trees = calloc(xml->count + 1, sizeof *f.trees),
        .names = calloc(TREE_RANKS_MAX + 1, sizeof *f.names),
        .shares = calloc(TREE_RANKS_MAX + 1, sizeof *f.shares),
        .why = &reason,
    };
    *plan = NULL;
    bool room = f.trees && f.names && f.shares;
    enum gw_err err = room ? read_trees(&f) : GW_ENOMEM;
    if (!room)
        gw_fail(&reason, GW_ENOMEM, "%.200s", xml->name);
    if (room && !err)
        err = plan_forest(&f, plan);
    free(f.shares);
    free(f.names);
    free(f.trees);
    if (err && strncmp(reason.text, xml->name, strlen(xml->name)) != 0)
        gw_wrap(&reason, err, "%.200s", xml->name);
    return err ? gw_fail(why, err, "%s", reason.text) : GW_OK;
}
