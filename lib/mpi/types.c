/* SPDX-License-Identifier: MIT
 *
 * See types.h. The table has the groups of types for which MPI defines its
 * operations (MPI 4.0, section 6.9.2). What it does not define is left to the
 * MPI, which has an error for it, or an extension.
 *
 * The library takes the reductions that it computes as MPI defines them: sums,
 * products, minima, maxima and bits of integers and of floats that have a type
 * of the library. Logical operations stay with the MPI, which knows its
 * representation of .TRUE.; so do pairs, long double and products of complex
 * numbers.
 */
#include "types.h"

#include <limits.h>

enum group {
    INTEGER,
    FORTRAN_INTEGER,
    FLOATING,
    LOGICAL,
    COMPLEX,
    BYTES,
    PAIR,
    TEXT /* has no operations */
};

struct known_type {
    MPI_Datatype mpi;
    enum group group;
    size_t bytes; /* 0: as the compiler of Fortran has it */
    bool is_signed;
};

/* The type of MPI, that of C. */
#define INTEGERS(X)                                                            \
    X(MPI_INT, int)                                                            \
    X(MPI_LONG, long)                                                          \
    X(MPI_UNSIGNED, unsigned)                                                  \
    X(MPI_UNSIGNED_LONG, unsigned long)                                        \
    X(MPI_LONG_LONG_INT, long long)                                            \
    X(MPI_UNSIGNED_LONG_LONG, unsigned long long)                              \
    X(MPI_INT64_T, int64_t)                                                    \
    X(MPI_UINT64_T, uint64_t)                                                  \
    X(MPI_INT32_T, int32_t)                                                    \
    X(MPI_UINT32_T, uint32_t)                                                  \
    X(MPI_INT16_T, int16_t)                                                    \
    X(MPI_UINT16_T, uint16_t)                                                  \
    X(MPI_INT8_T, int8_t)                                                      \
    X(MPI_UINT8_T, uint8_t)                                                    \
    X(MPI_SHORT, short)                                                        \
    X(MPI_UNSIGNED_SHORT, unsigned short)                                      \
    X(MPI_SIGNED_CHAR, signed char)                                            \
    X(MPI_UNSIGNED_CHAR, unsigned char)

/* Bits, but no truth: types of several languages. */
#define ADDRESSES(X)                                                           \
    X(MPI_AINT, MPI_Aint)                                                      \
    X(MPI_OFFSET, MPI_Offset)                                                  \
    X(MPI_COUNT, MPI_Count)

static const struct known_type known_types[] = {
    {MPI_DOUBLE, FLOATING, sizeof(double), true},
    {MPI_FLOAT, FLOATING, sizeof(float), true},
#define X(mpi, c) {mpi, INTEGER, sizeof(c), (c)-1 < (c)1},
    INTEGERS(X)
#undef X
        {MPI_BYTE, BYTES, 1, false},
    {MPI_CHAR, TEXT, 1, false},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX, 2 * sizeof(double), true},
    {MPI_C_FLOAT_COMPLEX, COMPLEX, 2 * sizeof(float), true},
    {MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, 2 * sizeof(long double), true},
    {MPI_LONG_DOUBLE, FLOATING, sizeof(long double), true},
    {MPI_C_BOOL, LOGICAL, 1, false},
#define X(mpi, c) {mpi, FORTRAN_INTEGER, sizeof(c), (c)-1 < (c)1},
    ADDRESSES(X)
#undef X
        {MPI_FLOAT_INT, PAIR, 0, true},
    {MPI_DOUBLE_INT, PAIR, 0, true},
    {MPI_LONG_DOUBLE_INT, PAIR, 0, true},
    {MPI_LONG_INT, PAIR, 0, true},
    {MPI_SHORT_INT, PAIR, 0, true},
    {MPI_2INT, PAIR, 0, true},
    {MPI_DOUBLE_PRECISION, FLOATING, 0, true},
    {MPI_REAL, FLOATING, 0, true},
    {MPI_INTEGER, FORTRAN_INTEGER, 0, true},
    {MPI_LOGICAL, LOGICAL, 0, false},
    {MPI_DOUBLE_COMPLEX, COMPLEX, 0, true},
    {MPI_COMPLEX, COMPLEX, 0, true},
    {MPI_2INTEGER, PAIR, 0, true},
    {MPI_2REAL, PAIR, 0, true},
    {MPI_2DOUBLE_PRECISION, PAIR, 0, true},
    {MPI_INTEGER1, FORTRAN_INTEGER, 0, true},
    {MPI_INTEGER2, FORTRAN_INTEGER, 0, true},
    {MPI_INTEGER4, FORTRAN_INTEGER, 0, true},
    {MPI_INTEGER8, FORTRAN_INTEGER, 0, true},
    {MPI_REAL4, FLOATING, 0, true},
    {MPI_REAL8, FLOATING, 0, true},
    {MPI_REAL16, FLOATING, 0, true},
    {MPI_COMPLEX8, COMPLEX, 0, true},
    {MPI_COMPLEX16, COMPLEX, 0, true},
    {MPI_COMPLEX32, COMPLEX, 0, true},
    {MPI_CXX_BOOL, LOGICAL, 1, false},
    {MPI_CXX_FLOAT_COMPLEX, COMPLEX, 0, true},
    {MPI_CXX_DOUBLE_COMPLEX, COMPLEX, 0, true},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, 0, true},
};

/* Returns the entry, or NULL. */
static const struct known_type *find_type(MPI_Datatype type)
{
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (known_types[i].mpi == type)
            return &known_types[i];
    return NULL;
}

/* ---- operations ---- */

enum { NO_OP = -1 }; /* an operation that the library does not have */

struct known_op {
    MPI_Op mpi;
    int own;         /* enum gw_redop, or NO_OP */
    unsigned groups; /* bits */
};

#define GROUP(name) (1u << (name))
#define NUMBERS     (GROUP(INTEGER) | GROUP(FORTRAN_INTEGER) | GROUP(FLOATING))
#define TRUTH       (GROUP(INTEGER) | GROUP(LOGICAL))
#define BITS        (GROUP(INTEGER) | GROUP(FORTRAN_INTEGER) | GROUP(BYTES))

static const struct known_op known_ops[] = {
    {MPI_SUM, GW_SUM, NUMBERS | GROUP(COMPLEX)},
    {MPI_MAX, GW_MAX, NUMBERS},
    {MPI_MIN, GW_MIN, NUMBERS},
    {MPI_PROD, GW_PROD, NUMBERS | GROUP(COMPLEX)},
    {MPI_BAND, GW_BAND, BITS},
    {MPI_BOR, GW_BOR, BITS},
    {MPI_BXOR, NO_OP, BITS},
    {MPI_LAND, NO_OP, TRUTH},
    {MPI_LOR, NO_OP, TRUTH},
    {MPI_LXOR, NO_OP, TRUTH},
    {MPI_MINLOC, NO_OP, GROUP(PAIR)},
    {MPI_MAXLOC, NO_OP, GROUP(PAIR)},
    {MPI_REPLACE, NO_OP, 0}, /* of one-sided communication */
    {MPI_NO_OP, NO_OP, 0},
};

static const struct known_op *find_op(MPI_Op op)
{
    for (size_t i = 0; i < sizeof known_ops / sizeof *known_ops; i++)
        if (known_ops[i].mpi == op)
            return &known_ops[i];
    return NULL;
}

bool gw__mpi_op_is_predefined(MPI_Op op)
{
    return find_op(op) != NULL;
}

bool gw__mpi_op_is_defined(MPI_Datatype type, MPI_Op op)
{
    const struct known_type *t = find_type(type);
    const struct known_op *o = find_op(op);
    return t && o && (o->groups & GROUP(t->group));
}

/* ---- reductions of the library ---- */

static bool find_integer(size_t bytes, bool is_signed, enum gw_dtype *found)
{
    switch (bytes) {
    case 1:
        *found = is_signed ? GW_I8 : GW_U8;
        return true;
    case 2:
        *found = is_signed ? GW_I16 : GW_U16;
        return true;
    case 4:
        *found = is_signed ? GW_I32 : GW_U32;
        return true;
    case 8:
        *found = is_signed ? GW_I64 : GW_U64;
        return true;
    default:
        return false;
    }
}

static bool find_float(size_t bytes, enum gw_dtype *found)
{
    *found = bytes == sizeof(float) ? GW_F32 : GW_F64;
    return bytes == sizeof(float) || bytes == sizeof(double);
}

static size_t bytes_of(const struct known_type *t)
{
    int bytes = (int)t->bytes;
    if (bytes == 0)
        PMPI_Type_size(t->mpi, &bytes);
    return (size_t)bytes;
}

bool gw__mpi_reduction_find(MPI_Datatype type, MPI_Op op,
                            struct gw__mpi_reduction *found)
{
    const struct known_type *t = find_type(type);
    const struct known_op *o = find_op(op);
    if (!t || !o || o->own == NO_OP || !(o->groups & GROUP(t->group)))
        return false;
    found->op = (enum gw_redop)o->own;
    found->lanes = t->group == COMPLEX ? 2 : 1;
    switch (t->group) {
    case INTEGER:
    case FORTRAN_INTEGER:
    case BYTES:
        return find_integer(bytes_of(t), t->is_signed, &found->type);
    case FLOATING:
        return find_float(bytes_of(t), &found->type);
    case COMPLEX:
        return found->op == GW_SUM && find_float(bytes_of(t) / 2, &found->type);
    default:
        return false;
    }
}

/* ---- the memory of a type ---- */

/* The elements of other types may be in any order, even without gaps. */
bool gw__mpi_type_is_named(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    if (find_type(type))
        return true;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

bool gw__mpi_type_is_committed(MPI_Datatype type, MPI_Comm self)
{
    char nothing;
    int position = 0;
    return gw__mpi_type_is_named(type) ||
           PMPI_Pack(&nothing, 0, type, &nothing, 0, &position, self) ==
               MPI_SUCCESS;
}

static struct gw__mpi_extent query_extent(MPI_Datatype type)
{
    MPI_Aint lower, extent, data_lower, data_extent;
    int bytes;
    PMPI_Type_size(type, &bytes);
    PMPI_Type_get_extent(type, &lower, &extent);
    PMPI_Type_get_true_extent(type, &data_lower, &data_extent);
    bool plain = lower == 0 && data_lower == 0 && extent >= data_extent;
    return (struct gw__mpi_extent){
        .bytes = (size_t)bytes,
        .stride = (size_t)extent,
        .last = (size_t)(data_lower + data_extent),
        .plain = plain,
        .dense = plain && bytes == extent && gw__mpi_type_is_named(type),
    };
}

struct gw__mpi_extent gw__mpi_extent(MPI_Datatype type)
{
    const struct known_type *t = find_type(type);
    if (!t || t->bytes == 0)
        return query_extent(type);
    return (struct gw__mpi_extent){
        .bytes = t->bytes,
        .stride = t->bytes,
        .last = t->bytes,
        .plain = true,
        .dense = true,
    };
}
