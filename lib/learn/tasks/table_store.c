/* SPDX-License-Identifier: MIT
 *
 * Tables in this process, as a reference for runs with parameter servers. A
 * table is a hash from keys to row numbers, and rows in the order of their
 * first push, each with the sum of the pushes since the last step. The first
 * push of a batch is copied and later ones are added to it, as a server does
 * when it closes a round.
 */
#include "learn/random.h"
#include "ps/store/update.h"

#include <gradwire/train.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MIN = 1024 };
#define NO_ROW UINT32_MAX

struct table {
    struct gw__updater updater;
    struct gw__updater bare; /* the same without state, for initial values */
    size_t width, stride;
    size_t count, capacity; /* of rows */
    uint64_t *keys;
    float *rows, *sums; /* their strides are `stride` and `width` */
    bool *pushed;       /* since the last step */
    uint32_t *waiting;  /* rows with pushes, in the order of the first push */
    size_t waiting_count;
    uint32_t *cells; /* number of a row, or NO_ROW */
    size_t cell_count;
};

struct gw_table_store {
    unsigned table_count;
    struct table tables[GW_PS_TABLES_MAX];
    /* Memory of gw_table_store_run_batch. */
    float *values[2][GW_TASK_TABLES_MAX];
    size_t value_capacity[GW_TASK_TABLES_MAX];
};

static enum gw_err init_table(struct table *table,
                              const struct gw_ps_table_config *config,
                              struct gw_error *why)
{
    enum gw_err code =
        gw__updater_init(&table->updater, config, NULL, NULL, 0, why);
    if (code)
        return code;
    table->bare = table->updater;
    table->bare.state_floats = 0;
    table->width = config->width;
    table->stride = config->width + table->updater.state_floats;
    return GW_OK;
}

enum gw_err gw_table_store_new(const struct gw_ps_table_config *tables,
                               unsigned count, struct gw_table_store **store,
                               struct gw_error *why)
{
    *store = NULL;
    if (count > GW_PS_TABLES_MAX)
        return gw_fail(why, GW_EINVAL, "%u tables; use at most %d", count,
                       GW_PS_TABLES_MAX);
    struct gw_table_store *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "tables");
    made->table_count = count;
    for (unsigned i = 0; i < count; i++) {
        enum gw_err code = init_table(&made->tables[i], &tables[i], why);
        if (code) {
            gw_table_store_destroy(&made);
            return code;
        }
    }
    *store = made;
    return GW_OK;
}

void gw_table_store_destroy(struct gw_table_store **store)
{
    if (!*store)
        return;
    for (unsigned i = 0; i < (*store)->table_count; i++) {
        struct table *table = &(*store)->tables[i];
        free(table->keys);
        free(table->rows);
        free(table->sums);
        free(table->pushed);
        free(table->waiting);
        free(table->cells);
    }
    for (unsigned i = 0; i < GW_TASK_TABLES_MAX; i++) {
        free((*store)->values[0][i]);
        free((*store)->values[1][i]);
    }
    free(*store);
    *store = NULL;
}

/* The cell with the key, or the free one for it. */
static uint32_t *find_cell(const struct table *table, uint64_t key)
{
    size_t mask = table->cell_count - 1;
    size_t i = (size_t)gw__mix(key) & mask;
    while (table->cells[i] != NO_ROW && table->keys[table->cells[i]] != key)
        i = (i + 1) & mask;
    return &table->cells[i];
}

void gw_table_store_pull(const struct gw_table_store *store, unsigned number,
                         const uint64_t *keys, size_t count, float *rows)
{
    assert(number < store->table_count);
    const struct table *table = &store->tables[number];
    size_t width = table->width;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = table->cell_count ? *find_cell(table, keys[i]) : NO_ROW;
        if (row == NO_ROW)
            gw__updater_begin(&table->bare, keys[i], rows + i * width);
        else
            memcpy(rows + i * width, table->rows + row * table->stride,
                   width * sizeof *rows);
    }
}

/* Makes room for `count` items. Out of memory: returns the old memory and sets
 * *failed. */
static void *resize(void *old, size_t count, size_t item, bool *failed)
{
    void *moved = realloc(old, count * item);
    if (moved)
        return moved;
    *failed = true;
    return old;
}

static bool grow_rows(struct table *t, size_t need)
{
    bool failed = false;
    if (need <= t->capacity)
        return true;
    size_t count = 2 * t->capacity > need ? 2 * t->capacity : need;
    t->keys = resize(t->keys, count, sizeof *t->keys, &failed);
    t->rows = resize(t->rows, count * t->stride, sizeof *t->rows, &failed);
    t->sums = resize(t->sums, count * t->width, sizeof *t->sums, &failed);
    t->pushed = resize(t->pushed, count, sizeof *t->pushed, &failed);
    t->waiting = resize(t->waiting, count, sizeof *t->waiting, &failed);
    if (!failed)
        t->capacity = count;
    return !failed;
}

/* Keeps at most half of the cells in use with `need` rows. */
static bool grow_cells(struct table *table, size_t need)
{
    size_t count = table->cell_count ? table->cell_count : CELLS_MIN;
    while (count < 2 * need)
        count *= 2;
    if (count == table->cell_count)
        return true;
    uint32_t *cells = malloc(count * sizeof *cells);
    if (!cells)
        return false;
    free(table->cells);
    table->cells = cells;
    table->cell_count = count;
    for (size_t i = 0; i < count; i++)
        cells[i] = NO_ROW;
    for (size_t i = 0; i < table->count; i++)
        *find_cell(table, table->keys[i]) = (uint32_t)i;
    return true;
}

/* Makes room for `count` more rows. */
static bool grow_table(struct table *table, size_t count, struct gw_error *why)
{
    size_t need = table->count + count;
    if (need < NO_ROW && grow_rows(table, need) && grow_cells(table, need))
        return true;
    gw_fail(why, GW_ENOMEM, "table %s: %zu rows", table->updater.config.name,
            need);
    return false;
}

/* There must be room for a new row. */
static uint32_t find_or_add_row(struct table *table, uint64_t key)
{
    uint32_t *cell = find_cell(table, key);
    if (*cell == NO_ROW) {
        *cell = (uint32_t)table->count++;
        table->keys[*cell] = key;
        table->pushed[*cell] = false;
        gw__updater_begin(&table->updater, key,
                          table->rows + *cell * table->stride);
    }
    return *cell;
}

enum gw_err gw_table_store_push(struct gw_table_store *store, unsigned number,
                                const uint64_t *keys, size_t count,
                                const float *values, struct gw_error *why)
{
    assert(number < store->table_count);
    struct table *table = &store->tables[number];
    size_t width = table->width;
    if (!grow_table(table, count, why))
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = find_or_add_row(table, keys[i]);
        float *sum = table->sums + row * width;
        const float *value = values + i * width;
        if (table->pushed[row]) {
            for (size_t k = 0; k < width; k++)
                sum[k] += value[k];
            continue;
        }
        memcpy(sum, value, width * sizeof *sum);
        table->pushed[row] = true;
        table->waiting[table->waiting_count++] = row;
    }
    return GW_OK;
}

enum gw_err gw_table_store_assign(struct gw_table_store *store, unsigned number,
                                  const uint64_t *keys, size_t count,
                                  const float *values, struct gw_error *why)
{
    assert(number < store->table_count);
    struct table *table = &store->tables[number];
    size_t width = table->width;
    if (!grow_table(table, count, why))
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++)
        memcpy(table->rows + find_or_add_row(table, keys[i]) * table->stride,
               values + i * width, width * sizeof *values);
    return GW_OK;
}

void gw_table_store_step(struct gw_table_store *store)
{
    for (unsigned i = 0; i < store->table_count; i++) {
        struct table *table = &store->tables[i];
        for (size_t k = 0; k < table->waiting_count; k++) {
            uint32_t row = table->waiting[k];
            gw__updater_apply(&table->updater,
                              table->rows + row * table->stride,
                              table->sums + row * table->width, 1);
            table->pushed[row] = false;
        }
        table->waiting_count = 0;
    }
}

static enum gw_err fetch(void *context, unsigned table, const uint64_t *keys,
                         size_t count, float *rows, struct gw_error *why)
{
    (void)why;
    gw_table_store_pull(context, table, keys, count, rows);
    return GW_OK;
}

struct gw_fetch gw_table_store_fetch(struct gw_table_store *store)
{
    return (struct gw_fetch){.context = store, .rows = fetch};
}

size_t gw_table_store_rows(const struct gw_table_store *store, unsigned table)
{
    assert(table < store->table_count);
    return store->tables[table].count;
}

/* The rows' hashes are added, so that their order does not matter. */
uint64_t gw_table_store_digest(const struct gw_table_store *store)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < store->table_count; i++) {
        const struct table *table = &store->tables[i];
        for (size_t row = 0; row < table->count; row++)
            digest += gw_hash(table->rows + row * table->stride,
                              table->width * sizeof *table->rows,
                              gw__mix_in(i, table->keys[row]));
    }
    return digest;
}

/* ---- batches ---- */

static bool reserve_values(struct gw_table_store *store, unsigned table,
                           size_t floats)
{
    if (floats <= store->value_capacity[table])
        return true;
    bool failed = false;
    for (int i = 0; i < 2; i++)
        store->values[i][table] =
            resize(store->values[i][table], floats, sizeof(float), &failed);
    if (failed)
        return false;
    store->value_capacity[table] = floats;
    return true;
}

static enum gw_err run_part(struct gw_table_store *store,
                            struct gw_work_item *item,
                            const struct gw_work_item_id *id,
                            struct gw_sample_sums *sums, struct gw_error *why)
{
    enum gw_err code = gw_work_item_prepare(item, id, why);
    size_t count;
    for (unsigned i = 0; !code && i < store->table_count; i++) {
        const uint64_t *keys = gw_work_item_keys(item, i, &count);
        if (!reserve_values(store, i, count * store->tables[i].width))
            code = gw_fail(why, GW_ENOMEM, "the rows of %zu keys", count);
        else
            gw_table_store_pull(store, i, keys, count, store->values[0][i]);
    }
    if (code)
        return code;
    gw_work_item_compute(item, (const float *const *)store->values[0],
                         store->values[1], sums);
    for (unsigned i = 0; !code && i < store->table_count; i++) {
        const uint64_t *keys = gw_work_item_keys(item, i, &count);
        code = gw_table_store_push(store, i, keys, count, store->values[1][i],
                                   why);
    }
    return code;
}

enum gw_err gw_table_store_run_batch(struct gw_table_store *store,
                                     struct gw_work_item *item, uint64_t epoch,
                                     uint64_t batch, unsigned parts,
                                     struct gw_sample_sums *sums,
                                     struct gw_error *why)
{
    assert(store->table_count <= GW_TASK_TABLES_MAX);
    enum gw_err code = GW_OK;
    struct gw_sample_sums part_sums;
    *sums = (struct gw_sample_sums){0};
    for (unsigned part = 0; !code && part < parts; part++) {
        struct gw_work_item_id id = {epoch, batch, part, parts};
        code = run_part(store, item, &id, &part_sums, why);
        if (!code)
            gw_sample_sums_add(sums, &part_sums);
    }
    if (!code)
        gw_table_store_step(store);
    return code;
}
