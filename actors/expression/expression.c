/*  actors/expression/expression.c - compiles a formula to instructions and runs them over a tile.
 *
 *  A register has a chunk of elements.  Instructions compute whole chunks, so that their loops have
 *  a fixed length and become vector instructions; what follows the last element is not used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/expression/expression_internal.h"
#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"

typedef union {
    int64_t i64[TND_CHUNK];
    float f32[TND_CHUNK];
    double f64[TND_CHUNK];
    uint8_t boolean[TND_CHUNK];
    uint8_t bytes[8 * TND_CHUNK]; /* numbers of any type */
} chunk_t;

typedef struct {
    tnd_node_kind_t kind;
    tnd_dtype_t type, from; /* of the operands; of a cast: its result, what it casts */
    uint32_t to, left, right;
    uint32_t column;
    size_t elements; /* of a row of the column */
    bool ragged;
} instruction_t;

struct tnd_expression {
    tnd_column_t result;
    uint64_t reads;
    size_t elements; /* of a row of the result; of a ragged one, of a step along its first axis */
    instruction_t *instructions;
    int count;
    uint32_t last; /* the register of the result */
    chunk_t *registers;
};

/* --- compiling ---------------------------------------------------------------------------------- */

/*  Registers while they are given out. */
typedef struct {
    bool used[TND_NODES_MAX];
    uint32_t of[TND_NODES_MAX]; /* by node */
    uint32_t count;
} allocation_t;

static uint32_t take_register(allocation_t *self)
{
    uint32_t at = 0;
    while (self->used[at])
        at++;
    self->used[at] = true;
    self->count = at + 1 > self->count ? at + 1 : self->count;
    return at;
}

/*  A number that is cast is a number. */
static void fold(tnd_formula_t *formula)
{
    for (int i = 0; i < formula->count; i++) {
        tnd_node_t *node = &formula->nodes[i];
        if (node->kind != TND_NODE_CAST || formula->nodes[node->left].kind != TND_NODE_NUMBER)
            continue;
        const tnd_node_t *from = &formula->nodes[node->left];
        node->kind = TND_NODE_NUMBER;
        tnd_cast(node->type, from->type, 1, &node->bits, &from->bits);
    }
}

static void fill(chunk_t *to, const tnd_node_t *node)
{
    size_t size = tnd_dtype_size(node->type);
    for (size_t i = 0; i < TND_CHUNK; i++)
        memcpy(to->bytes + i * size, &node->bits, size);
}

static void compile(tnd_expression_t *self, const tnd_formula_t *formula, const tnd_schema_t *in)
{
    allocation_t registers = {.count = 0};
    for (int i = 0; i < formula->count; i++)
        if (formula->nodes[i].kind == TND_NODE_NUMBER)
            registers.of[i] = take_register(&registers);
    for (int i = 0; i < formula->count; i++) {
        const tnd_node_t *node = &formula->nodes[i];
        instruction_t *made = &self->instructions[self->count];
        if (node->kind == TND_NODE_NUMBER)
            continue;
        made->kind = node->kind;
        made->type = node->type;
        made->to = registers.of[i] = take_register(&registers);
        self->count++;
        if (node->kind == TND_NODE_COLUMN || node->kind == TND_NODE_LENGTH) {
            made->column = node->column;
            made->ragged = in->columns[node->column].ragged;
            made->from = in->columns[node->column].dtype;
            made->elements = tnd_column_elements(&in->columns[node->column]);
            continue;
        }
        const int operands[] = {node->left, node->right};
        made->from = formula->nodes[node->left].type;
        made->left = registers.of[node->left];
        made->right = node->right >= 0 ? registers.of[node->right] : made->left;
        for (int o = 0; o < 2; o++)
            if (operands[o] >= 0 && formula->nodes[operands[o]].kind != TND_NODE_NUMBER)
                registers.used[registers.of[operands[o]]] = false;
    }
    self->last = registers.of[formula->root];
    self->registers = tnd_allocate_zeroed(registers.count, sizeof *self->registers);
    for (int i = 0; i < formula->count; i++)
        if (formula->nodes[i].kind == TND_NODE_NUMBER)
            fill(&self->registers[registers.of[i]], &formula->nodes[i]);
}

tnd_status_t tnd_expression_new(tnd_expression_t **self_p, const char *text, const tnd_schema_t *in,
                                tnd_error_t *error)
{
    tnd_formula_t *formula = tnd_allocate_zeroed(1, sizeof *formula);
    *self_p = NULL;
    tnd_status_t status = tnd_formula_parse(formula, text, in, error);
    if (status == TND_OK) {
        tnd_expression_t *self = tnd_allocate_zeroed(1, sizeof *self);
        self->result = formula->shape;
        self->result.dtype = formula->nodes[formula->root].type;
        self->elements = tnd_column_elements(&self->result);
        if (self->result.ragged)
            self->elements /= self->result.shape[0];
        self->reads = formula->reads;
        self->instructions =
            tnd_allocate_zeroed((size_t)formula->count, sizeof *self->instructions);
        fold(formula);
        compile(self, formula, in);
        *self_p = self;
    }
    free(formula);
    return status;
}

void tnd_expression_free(tnd_expression_t **self_p)
{
    tnd_expression_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    free(self->instructions);
    free(self->registers);
    free(self);
}

const tnd_column_t *tnd_expression_result(const tnd_expression_t *self)
{
    return &self->result;
}

uint64_t tnd_expression_reads(const tnd_expression_t *self)
{
    return self->reads;
}

/* --- running ------------------------------------------------------------------------------------ */

/*  Sets all elements to one, of type by->from. */
static void spread(const instruction_t *by, const void *from, size_t count, uint8_t *to)
{
    size_t made = tnd_dtype_size(by->type);
    uint64_t bits;
    tnd_cast(by->type, by->from, 1, &bits, from);
    for (size_t k = 0; k < count; k++)
        memcpy(to + k * made, &bits, made);
}

/*  The lengths of the rows that elements [first, first + count) are of. */
static void load_lengths(const tnd_expression_t *self, const instruction_t *by,
                         const tnd_tile_t *in, size_t first, size_t count, chunk_t *to)
{
    const tnd_ragged_t *rows = in->columns[by->column].ragged;
    for (size_t i = 0; i < count; i++)
        to->i64[i] = (int64_t)rows[(first + i) / self->elements].length;
}

/*  Copies elements [first, first + count) of all rows of a column. */
static void load(const tnd_expression_t *self, const instruction_t *by, const tnd_tile_t *in,
                 size_t first, size_t count, chunk_t *to)
{
    size_t size = tnd_dtype_size(by->from), made = tnd_dtype_size(by->type);
    size_t stride = in->columns[by->column].stride;
    const uint8_t *base = in->columns[by->column].base;
    if (by->elements == self->elements && stride == by->elements * size) {
        tnd_cast(by->type, by->from, count, to->bytes, base + first * size);
        return;
    }
    for (size_t i = 0; i < count;) {
        size_t row = (first + i) / self->elements, at = (first + i) % self->elements;
        size_t whole = self->elements - at, n = whole < count - i ? whole : count - i;
        const uint8_t *from = base + row * stride;
        if (by->elements == self->elements)
            tnd_cast(by->type, by->from, n, to->bytes + i * made, from + at * size);
        else
            spread(by, from, n, to->bytes + i * made);
        i += n;
    }
}

/*  Copies elements [first, first + count) of one row of a ragged result. */
static void load_row(const instruction_t *by, const tnd_tile_t *in, uint32_t row, size_t first,
                     size_t count, chunk_t *to)
{
    const tnd_ragged_t *ragged = in->columns[by->column].ragged;
    if (by->kind == TND_NODE_LENGTH)
        for (size_t i = 0; i < count; i++)
            to->i64[i] = (int64_t)ragged[row].length;
    else if (by->ragged)
        tnd_cast(by->type, by->from, count, to->bytes,
                 (const uint8_t *)ragged[row].data + first * tnd_dtype_size(by->from));
    else
        spread(by, tnd_tile_row(in, by->column, row), count, to->bytes);
}

#define EACH(result, value)                                                                        \
    do {                                                                                           \
        for (size_t i = 0; i < TND_CHUNK; i++)                                                     \
            (result)[i] = (value);                                                                 \
    } while (0)

/*  Integers wrap around. */
static void compute_i64(tnd_node_kind_t kind, int64_t *restrict to, const int64_t *restrict a,
                        const int64_t *restrict b)
{
    switch (kind) {
    case TND_NODE_NEGATE:
        EACH(to, (int64_t)(0 - (uint64_t)a[i]));
        break;
    case TND_NODE_ADD:
        EACH(to, (int64_t)((uint64_t)a[i] + (uint64_t)b[i]));
        break;
    case TND_NODE_SUBTRACT:
        EACH(to, (int64_t)((uint64_t)a[i] - (uint64_t)b[i]));
        break;
    default:
        EACH(to, (int64_t)((uint64_t)a[i] * (uint64_t)b[i]));
        break;
    }
}

/*  The remainder has the sign of `b`. */
static bool remainder_i64(size_t count, int64_t *restrict to, const int64_t *restrict a,
                          const int64_t *restrict b)
{
    for (size_t i = 0; i < count; i++) {
        if (b[i] == 0)
            return false;
        int64_t rest = b[i] == -1 ? 0 : a[i] % b[i];
        to[i] = rest != 0 && (rest < 0) != (b[i] < 0) ? rest + b[i] : rest;
    }
    return true;
}

#define FLOATS(type, rest_of)                                                                      \
    static void compute_##type(tnd_node_kind_t kind, type *restrict to, const type *restrict a,    \
                               const type *restrict b)                                             \
    {                                                                                              \
        switch (kind) {                                                                            \
        case TND_NODE_NEGATE:                                                                      \
            EACH(to, -a[i]);                                                                       \
            break;                                                                                 \
        case TND_NODE_ADD:                                                                         \
            EACH(to, a[i] + b[i]);                                                                 \
            break;                                                                                 \
        case TND_NODE_SUBTRACT:                                                                    \
            EACH(to, a[i] - b[i]);                                                                 \
            break;                                                                                 \
        case TND_NODE_MULTIPLY:                                                                    \
            EACH(to, a[i] * b[i]);                                                                 \
            break;                                                                                 \
        case TND_NODE_DIVIDE:                                                                      \
            EACH(to, a[i] / b[i]);                                                                 \
            break;                                                                                 \
        default:                                                                                   \
            for (size_t i = 0; i < TND_CHUNK; i++) {                                               \
                type rest = rest_of(a[i], b[i]);                                                   \
                to[i] = rest != 0 && (rest < 0) != (b[i] < 0) ? rest + b[i] : rest;                \
            }                                                                                      \
            break;                                                                                 \
        }                                                                                          \
    }

/*  fmod is exact, so it has the same bits everywhere. */
FLOATS(float, fmodf)
FLOATS(double, fmod)

#define COMPARE(type, name)                                                                        \
    static void compare_##name(tnd_node_kind_t kind, uint8_t *restrict to, const type *restrict a, \
                               const type *restrict b)                                             \
    {                                                                                              \
        switch (kind) {                                                                            \
        case TND_NODE_EQUAL:                                                                       \
            EACH(to, a[i] == b[i]);                                                                \
            break;                                                                                 \
        case TND_NODE_UNEQUAL:                                                                     \
            EACH(to, a[i] != b[i]);                                                                \
            break;                                                                                 \
        case TND_NODE_LESS:                                                                        \
            EACH(to, a[i] < b[i]);                                                                 \
            break;                                                                                 \
        default:                                                                                   \
            EACH(to, a[i] <= b[i]);                                                                \
            break;                                                                                 \
        }                                                                                          \
    }

COMPARE(int64_t, i64)
COMPARE(float, f32)
COMPARE(double, f64)

static void combine(tnd_node_kind_t kind, uint8_t *restrict to, const uint8_t *restrict a,
                    const uint8_t *restrict b)
{
    switch (kind) {
    case TND_NODE_NOT:
        EACH(to, !a[i]);
        break;
    case TND_NODE_AND:
        EACH(to, a[i] & b[i]);
        break;
    case TND_NODE_OR:
        EACH(to, a[i] | b[i]);
        break;
    default:
        EACH(to, (uint8_t)((a[i] ^ b[i]) ^ (kind == TND_NODE_EQUAL)));
        break;
    }
}

static bool execute(const instruction_t *by, size_t count, chunk_t *to, const chunk_t *a,
                    const chunk_t *b)
{
    if (by->kind == TND_NODE_CAST)
        tnd_cast(by->type, by->from, TND_CHUNK, to->bytes, a->bytes);
    else if (by->from == TND_BOOL)
        combine(by->kind, to->boolean, a->boolean, b->boolean);
    else if (by->type == TND_BOOL && by->from == TND_I64)
        compare_i64(by->kind, to->boolean, a->i64, b->i64);
    else if (by->type == TND_BOOL && by->from == TND_F32)
        compare_f32(by->kind, to->boolean, a->f32, b->f32);
    else if (by->type == TND_BOOL)
        compare_f64(by->kind, to->boolean, a->f64, b->f64);
    else if (by->type == TND_F32)
        compute_float(by->kind, to->f32, a->f32, b->f32);
    else if (by->type == TND_F64)
        compute_double(by->kind, to->f64, a->f64, b->f64);
    else if (by->kind == TND_NODE_REMAINDER)
        return remainder_i64(count, to->i64, a->i64, b->i64);
    else
        compute_i64(by->kind, to->i64, a->i64, b->i64);
    return true;
}

/*  Computes a chunk of a tile or, of a ragged result, of its row `row`, and writes it. */
static tnd_status_t compute_chunk(tnd_expression_t *self, const tnd_tile_t *in, uint32_t row,
                                  size_t first, size_t count, tnd_dtype_t to, void *out,
                                  tnd_error_t *error)
{
    for (int i = 0; i < self->count; i++) {
        const instruction_t *by = &self->instructions[i];
        chunk_t *made = &self->registers[by->to];
        bool loads = by->kind == TND_NODE_COLUMN || by->kind == TND_NODE_LENGTH;
        if (loads && self->result.ragged)
            load_row(by, in, row, first, count, made);
        else if (by->kind == TND_NODE_LENGTH)
            load_lengths(self, by, in, first, count, made);
        else if (loads)
            load(self, by, in, first, count, made);
        else if (!execute(by, count, made, &self->registers[by->left], &self->registers[by->right]))
            return tnd_fail(error, "the remainder of a division by 0 does not exist");
    }
    tnd_cast(to, self->result.dtype, count, out, self->registers[self->last].bytes);
    return TND_OK;
}

tnd_status_t tnd_expression_run(tnd_expression_t *self, const tnd_tile_t *in, tnd_dtype_t to,
                                void *out, tnd_error_t *error)
{
    size_t all = in->rows * self->elements, size = tnd_dtype_size(to);
    for (size_t first = 0; first < all; first += TND_CHUNK) {
        size_t count = all - first < TND_CHUNK ? all - first : TND_CHUNK;
        TND_TRY(compute_chunk(self, in, 0, first, count, to, (uint8_t *)out + first * size, error));
    }
    return TND_OK;
}

/*  Rows of ragged columns that meet have one length. */
static tnd_status_t length_of(const tnd_expression_t *self, const tnd_tile_t *in, uint32_t row,
                              uint64_t *length_p, tnd_error_t *error)
{
    bool known = false;
    for (int i = 0; i < self->count; i++) {
        const instruction_t *by = &self->instructions[i];
        if (by->kind != TND_NODE_COLUMN || !by->ragged)
            continue;
        uint64_t length = in->columns[by->column].ragged[row].length;
        if (known && length != *length_p)
            return tnd_fail(error,
                            "columns of the formula have %llu and %llu values in a row, where they "
                            "need as many",
                            (unsigned long long)*length_p, (unsigned long long)length);
        *length_p = length;
        known = true;
    }
    return TND_OK;
}

tnd_status_t tnd_expression_run_ragged(tnd_expression_t *self, const tnd_tile_t *in, uint32_t row,
                                       tnd_dtype_t to, tnd_room_t *room, tnd_ragged_t *out,
                                       tnd_error_t *error)
{
    uint64_t length = 0;
    size_t size = tnd_dtype_size(to);
    TND_TRY(length_of(self, in, row, &length, error));
    size_t all = length * self->elements;
    *out = (tnd_ragged_t){tnd_room_take(room, all * size, size), length};
    for (size_t first = 0; first < all; first += TND_CHUNK) {
        size_t count = all - first < TND_CHUNK ? all - first : TND_CHUNK;
        TND_TRY(compute_chunk(self, in, row, first, count, to, (uint8_t *)out->data + first * size,
                              error));
    }
    return TND_OK;
}
