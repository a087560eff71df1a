/* SPDX-License-Identifier: MIT
 *
 * A blocked matrix product for vectors of VECTOR_BYTES, as in Goto and van de
 * Geijn 2008 ("Anatomy of high-performance matrix multiplication"): a block of
 * the right matrix and a block of the left one are copied into panels in the
 * order of their use, and stay in the caches; a tile of 6 rows by 2 vectors is
 * summed up in registers.
 *
 * The including file must have included product.h and string.h.
 */
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

enum {
    STEP = VECTOR_BYTES / 4,
    TILE_ROWS = 6,
    TILE_COLUMNS = 2 * STEP,
    BLOCK_ROWS = 10 * TILE_ROWS,
    BLOCK_COLUMNS = 128,
    BLOCK_INNER = 128
};

#define INLINE static inline __attribute__((always_inline))

/* A matrix in memory: element (i, k) is at[i * down + k * right]. */
struct view {
    const float *at;
    size_t down, right;
};

INLINE vector load(const float *p)
{
    vector x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store(float *p, vector x)
{
    memcpy(p, &x, sizeof x);
}

/* Copies `count` lines of `inner` elements into panels of `wide` lines, with
 * zero padding. */
INLINE void pack(struct view from, size_t count, size_t inner, size_t wide,
                 float *into)
{
    for (size_t first = 0; first < count; first += wide) {
        size_t lines = count - first < wide ? count - first : wide;
        for (size_t k = 0; k < inner; k++, into += wide) {
            const float *at = from.at + first * from.down + k * from.right;
            for (size_t i = 0; i < lines; i++)
                into[i] = at[i * from.down];
            for (size_t i = lines; i < wide; i++)
                into[i] = 0;
        }
    }
}

#define TILE(ROW) ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)

/* sums = the products of two panels */
INLINE void tile(const float *left, const float *right, size_t inner,
                 float *sums)
{
#define ROW(i) vector a##i = {0}, b##i = {0};
    TILE(ROW)
#undef ROW
    for (size_t k = 0; k < inner; k++) {
        vector a = load(right), b = load(right + STEP);
#define ROW(i)                                                                 \
    a##i += a * left[i];                                                       \
    b##i += b * left[i];
        TILE(ROW)
#undef ROW
        left += TILE_ROWS;
        right += TILE_COLUMNS;
    }
#define ROW(i)                                                                 \
    store(sums + (i)*TILE_COLUMNS, a##i);                                      \
    store(sums + (i)*TILE_COLUMNS + STEP, b##i);
    TILE(ROW)
#undef ROW
}

/* out += the valid part of the tile */
INLINE void add_tile(const float *sums, size_t rows, size_t columns, float *out,
                     size_t stride)
{
    for (size_t i = 0; i < rows; i++, sums += TILE_COLUMNS, out += stride) {
        if (columns == TILE_COLUMNS) {
            store(out, load(out) + load(sums));
            store(out + STEP, load(out + STEP) + load(sums + STEP));
            continue;
        }
        for (size_t j = 0; j < columns; j++)
            out[j] += sums[j];
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out += left panels times right panels */
static void multiply_block(const float *left, const float *right, size_t rows,
                           size_t columns, size_t inner, float *out,
                           size_t stride)
{
    float sums[TILE_ROWS * TILE_COLUMNS];
    for (size_t j = 0; j < columns; j += TILE_COLUMNS)
        for (size_t i = 0; i < rows; i += TILE_ROWS) {
            tile(left + i * inner, right + j * inner, inner, sums);
            add_tile(sums, least(rows - i, TILE_ROWS),
                     least(columns - j, TILE_COLUMNS), out + i * stride + j,
                     stride);
        }
}

static void multiply(const struct gw__product *p)
{
    float left[BLOCK_ROWS * BLOCK_INNER], right[BLOCK_COLUMNS * BLOCK_INNER];
    size_t down = p->left_turned ? 1 : p->inner;
    size_t along = p->left_turned ? p->rows : 1;
    size_t turned_down = p->right_turned ? p->inner : 1;
    size_t turned_along = p->right_turned ? 1 : p->columns;
    if (!p->add)
        memset(p->out, 0, p->rows * p->columns * sizeof *p->out);
    for (size_t k = 0; k < p->inner; k += BLOCK_INNER)
        for (size_t j = 0; j < p->columns; j += BLOCK_COLUMNS) {
            size_t inner = least(p->inner - k, BLOCK_INNER);
            size_t columns = least(p->columns - j, BLOCK_COLUMNS);
            pack((struct view){p->right + j * turned_down + k * turned_along,
                               turned_down, turned_along},
                 columns, inner, TILE_COLUMNS, right);
            for (size_t i = 0; i < p->rows; i += BLOCK_ROWS) {
                size_t rows = least(p->rows - i, BLOCK_ROWS);
                pack((struct view){p->left + i * down + k * along, down, along},
                     rows, inner, TILE_ROWS, left);
                multiply_block(left, right, rows, columns, inner,
                               p->out + i * p->columns + j, p->columns);
            }
        }
}
