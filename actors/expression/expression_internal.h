/*  actors/expression/expression_internal.h - what the files of expression.h share.  */
#ifndef TND_ACTORS_EXPRESSION_EXPRESSION_INTERNAL_H
#define TND_ACTORS_EXPRESSION_EXPRESSION_INTERNAL_H

#include "actors/expression/expression.h"

enum {
    TND_NODES_MAX = 256,
    TND_DEPTH_MAX = 32, /* of parentheses, and of values that wait for others */
    TND_CHUNK = 256     /* elements that one instruction computes */
};

typedef enum {
    TND_NODE_NUMBER,
    TND_NODE_COLUMN,
    TND_NODE_LENGTH,
    TND_NODE_NEGATE,
    TND_NODE_NOT,
    TND_NODE_ADD,
    TND_NODE_SUBTRACT,
    TND_NODE_MULTIPLY,
    TND_NODE_DIVIDE,
    TND_NODE_REMAINDER,
    TND_NODE_EQUAL,
    TND_NODE_UNEQUAL,
    TND_NODE_LESS,
    TND_NODE_LESS_EQUAL,
    TND_NODE_AND,
    TND_NODE_OR,
    TND_NODE_CAST
} tnd_node_kind_t;

typedef struct {
    tnd_node_kind_t kind;
    const char *at;   /* in the text */
    tnd_dtype_t type; /* i64, f32, f64 or bool */
    bool flexible;    /* numbers of the text alone, which take the type of what they meet */
    int left, right;  /* nodes; `right` is -1 if there is one operand */
    uint32_t column;
    uint64_t bits; /* of a number, in its type */
} tnd_node_t;

/*  The tree of a formula, with the types of its nodes. */
typedef struct {
    const char *text;
    tnd_node_t nodes[TND_NODES_MAX];
    int count, root;
    tnd_column_t
        shape; /* rank and shape of the columns that it reads, and whether they are ragged */
    uint64_t reads;
} tnd_formula_t;

/*  Reads a formula.  Errors as of tnd_expression_new. */
tnd_status_t tnd_formula_parse(tnd_formula_t *self, const char *text, const tnd_schema_t *in,
                               tnd_error_t *error) TND_CHECKED;

/*  Adds a node whose operands are there, and finds its type.  Errors: TND_FAILED if the operands do
 *  not fit it, or there are too many nodes. */
tnd_status_t tnd_formula_add(tnd_formula_t *self, tnd_node_t node, int *node_p,
                             tnd_error_t *error) TND_CHECKED;

#endif
