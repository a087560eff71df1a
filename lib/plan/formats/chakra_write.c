/* SPDX-License-Identifier: MIT
 *
 * Writes a rank's part of a plan as a Chakra execution trace (mlcommons/chakra,
 * et_def.proto), which ASTRA-sim reads: messages in the encoding of protocol
 * buffers, each after its length. The first is GlobalMetadata, the others are
 * nodes: sends, receives, and computations for sums and copies.
 *
 * A receive into a sum has two nodes: the receive, and a computation after it.
 * Later nodes depend on the computation.
 */
#include "ops.h"
#include "plan/index.h"
#include "write.h"

#include <stdlib.h>
#include <string.h>

/* Field numbers and values of et_def.proto. */
enum {
    METADATA_VERSION = 1,
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_DATA_DEPS = 5,
    NODE_ATTR = 10,
    ATTR_NAME = 1,
    ATTR_INT32 = 7,
    ATTR_INT64 = 9,
    ATTR_BOOL = 27,
    TYPE_COMP = 4,
    TYPE_SEND = 5,
    TYPE_RECV = 6,
    WIRE_NUMBER = 0,
    WIRE_BYTES = 2
};

/* An encoded message; it has room for a node without its dependencies, which go
 * straight to the file. */
struct chakra_bytes {
    unsigned char bytes[512];
    size_t used;
};

static void put_varint(struct chakra_bytes *b, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        b->bytes[b->used++] = (unsigned char)(0x80 | (number & 0x7f));
    b->bytes[b->used++] = (unsigned char)number;
}

static void put_number(struct chakra_bytes *b, unsigned field, uint64_t number)
{
    put_varint(b, field << 3 | WIRE_NUMBER);
    put_varint(b, number);
}

static void put_bytes(struct chakra_bytes *b, unsigned field, const void *bytes,
                      size_t size)
{
    put_varint(b, field << 3 | WIRE_BYTES);
    put_varint(b, size);
    memcpy(b->bytes + b->used, bytes, size);
    b->used += size;
}

static void put_attribute(struct chakra_bytes *node, const char *name,
                          unsigned kind, uint64_t value)
{
    struct chakra_bytes attribute = {.used = 0};
    put_bytes(&attribute, ATTR_NAME, name, strlen(name));
    put_number(&attribute, kind, value);
    put_bytes(node, NODE_ATTR, attribute.bytes, attribute.used);
}

/* The length of a message, then its two parts. */
static void write_message(FILE *file, const struct chakra_bytes *first,
                          const struct chakra_bytes *second)
{
    struct chakra_bytes length = {.used = 0};
    put_varint(&length, first->used + (second ? second->used : 0));
    fwrite(length.bytes, 1, length.used, file);
    fwrite(first->bytes, 1, first->used, file);
    if (second)
        fwrite(second->bytes, 1, second->used, file);
}

struct chakra {
    const struct gw__export *e;
    struct gw__rank_ops ops;
    uint32_t *done; /* of each operation: the node after which it is done */
    uint32_t nodes;
};

static void begin_node(struct chakra_bytes *node, uint32_t id, unsigned type,
                       const struct gw_transfer *x)
{
    char name[GW__TRANSFER_TEXT];
    node->used = 0;
    put_number(node, NODE_ID, id);
    gw__transfer_text(x, name);
    put_bytes(node, NODE_NAME, name, strlen(name));
    put_number(node, NODE_TYPE, type);
}

/* Nodes have few dependencies; a node with more than fit is preceded by
 * computations of nothing that gather them. */
enum { DEPS_MOST = 24 };

static void add_computation(const struct chakra *c, struct chakra_bytes *node,
                            const struct gw_transfer *x)
{
    uint64_t bytes = gw__export_bytes(c->e, x);
    put_attribute(node, "is_cpu_op", ATTR_BOOL, 0);
    put_attribute(node, "num_ops", ATTR_INT64,
                  x->action == GW_ADD ? bytes / c->e->options->elem_bytes : 0);
    put_attribute(node, "tensor_size", ATTR_INT64, bytes);
}

static void gather_deps(struct chakra *c, const struct gw__rank_op *op,
                        struct chakra_bytes *deps)
{
    const struct gw_transfer *x = &c->e->plan->transfers[op->transfer];
    uint32_t waiting = 0;
    deps->used = 0;
    for (uint32_t d = 0; d < op->dep_count; d++) {
        if (waiting == DEPS_MOST) {
            struct chakra_bytes node;
            begin_node(&node, c->nodes, TYPE_COMP, x);
            put_attribute(&node, "is_cpu_op", ATTR_BOOL, 0);
            put_attribute(&node, "num_ops", ATTR_INT64, 0);
            put_attribute(&node, "tensor_size", ATTR_INT64, 0);
            write_message(c->e->file, &node, deps);
            deps->used = 0;
            put_number(deps, NODE_DATA_DEPS, c->nodes++);
            waiting = 1;
        }
        put_number(deps, NODE_DATA_DEPS,
                   c->done[c->ops.deps[op->dep_begin + d]]);
        waiting++;
    }
}

static void write_transfer(struct chakra *c, uint32_t number)
{
    const struct gw__rank_op *op = &c->ops.ops[number];
    const struct gw_transfer *x = &c->e->plan->transfers[op->transfer];
    bool sends = op->kind == GW__OP_SEND, local = gw__is_local(x);
    unsigned type = local ? TYPE_COMP : sends ? TYPE_SEND : TYPE_RECV;
    struct chakra_bytes node, deps;
    gather_deps(c, op, &deps);
    begin_node(&node, c->nodes, type, x);
    if (local)
        add_computation(c, &node, x);
    else {
        put_attribute(&node, "is_cpu_op", ATTR_BOOL, 0);
        put_attribute(&node, "comm_size", ATTR_INT64,
                      gw__export_bytes(c->e, x));
        put_attribute(&node, "comm_src", ATTR_INT32, x->src);
        put_attribute(&node, "comm_dst", ATTR_INT32, x->dst);
        put_attribute(&node, "comm_tag", ATTR_INT32, op->transfer);
    }
    write_message(c->e->file, &node, &deps);
    c->done[number] = c->nodes++;
    if (op->kind != GW__OP_RADD)
        return;
    begin_node(&node, c->nodes, TYPE_COMP, x);
    put_number(&node, NODE_DATA_DEPS, c->done[number]);
    add_computation(c, &node, x);
    write_message(c->e->file, &node, NULL);
    c->done[number] = c->nodes++;
}

enum gw_err gw__chakra_write(const struct gw__export *e, struct gw_error *why)
{
    static const char version[] = "0.0.4";
    struct chakra c = {.e = e};
    struct chakra_bytes metadata = {.used = 0};
    enum gw_err err = gw__rank_ops_init(&c.ops, e->plan, e->options->rank, why);
    if (err)
        return err;
    c.done = calloc(c.ops.count + 1, sizeof *c.done);
    if (!c.done)
        err = gw_fail(why, GW_ENOMEM, "writing a trace");
    put_bytes(&metadata, METADATA_VERSION, version, sizeof version - 1);
    if (!err)
        write_message(e->file, &metadata, NULL);
    for (uint32_t i = 0; !err && i < c.ops.count; i++)
        write_transfer(&c, i);
    free(c.done);
    gw__rank_ops_fini(&c.ops);
    return err;
}
