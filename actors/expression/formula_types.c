/*  actors/expression/formula_types.c - the types of the parts of a formula. */
#include "actors/expression/expression_internal.h"

static const char *name_of(const tnd_node_t *node)
{
    return node->type == TND_BOOL ? "a condition" : "a number";
}

static const char *sign_of(tnd_node_kind_t kind)
{
    static const char *const signs[] = {
        [TND_NODE_NEGATE] = "-",    [TND_NODE_NOT] = "not",       [TND_NODE_ADD] = "+",
        [TND_NODE_SUBTRACT] = "-",  [TND_NODE_MULTIPLY] = "*",    [TND_NODE_DIVIDE] = "/",
        [TND_NODE_REMAINDER] = "%", [TND_NODE_EQUAL] = "==",      [TND_NODE_UNEQUAL] = "!=",
        [TND_NODE_LESS] = "<",      [TND_NODE_LESS_EQUAL] = "<=", [TND_NODE_AND] = "and",
        [TND_NODE_OR] = "or"};
    return signs[kind];
}

/*  The type in which two numbers meet. */
static tnd_dtype_t common(const tnd_node_t *a, const tnd_node_t *b)
{
    if (a->type == b->type)
        return a->type;
    if (a->flexible != b->flexible) {
        const tnd_node_t *fixed = a->flexible ? b : a, *other = a->flexible ? a : b;
        return fixed->type == TND_I64 ? other->type : fixed->type;
    }
    return TND_F64;
}

static tnd_status_t append(tnd_formula_t *self, tnd_node_t node, int *node_p, tnd_error_t *error)
{
    if (self->count == TND_NODES_MAX)
        return tnd_fail_about(error, node.at, "the formula has more than %d parts", TND_NODES_MAX);
    self->nodes[self->count] = node;
    *node_p = self->count++;
    return TND_OK;
}

/*  Lets an operand take a type. */
static tnd_status_t convert(tnd_formula_t *self, int *node_p, tnd_dtype_t type, tnd_error_t *error)
{
    const tnd_node_t *from = &self->nodes[*node_p];
    if (from->type == type)
        return TND_OK;
    const tnd_node_t node = {.kind = TND_NODE_CAST,
                             .at = from->at,
                             .type = type,
                             .flexible = from->flexible,
                             .left = *node_p,
                             .right = -1};
    return append(self, node, node_p, error);
}

static tnd_status_t check_operand(const tnd_formula_t *self, const tnd_node_t *node, int operand,
                                  bool condition, tnd_error_t *error)
{
    const tnd_node_t *of = &self->nodes[operand];
    if ((of->type == TND_BOOL) == condition)
        return TND_OK;
    return tnd_fail_about(error, of->at, "`%s` is for %s, and this is %s%s", sign_of(node->kind),
                          condition ? "conditions" : "numbers", name_of(of),
                          condition ? "; compare it, `x != 0`" : "");
}

tnd_status_t tnd_formula_add(tnd_formula_t *self, tnd_node_t node, int *node_p, tnd_error_t *error)
{
    if (node.kind == TND_NODE_NUMBER || node.kind == TND_NODE_COLUMN ||
        node.kind == TND_NODE_LENGTH)
        return append(self, node, node_p, error);
    const tnd_node_t *left = &self->nodes[node.left];
    const tnd_node_t *right = node.right >= 0 ? &self->nodes[node.right] : left;
    bool logic = node.kind == TND_NODE_NOT || node.kind == TND_NODE_AND || node.kind == TND_NODE_OR;
    bool equality = node.kind == TND_NODE_EQUAL || node.kind == TND_NODE_UNEQUAL;
    bool compares = equality || node.kind == TND_NODE_LESS || node.kind == TND_NODE_LESS_EQUAL;
    bool conditions = logic || (equality && left->type == TND_BOOL && right->type == TND_BOOL);
    TND_TRY(check_operand(self, &node, node.left, conditions, error));
    if (node.right >= 0)
        TND_TRY(check_operand(self, &node, node.right, conditions, error));
    tnd_dtype_t type = conditions ? TND_BOOL : common(left, right);
    if (node.kind == TND_NODE_DIVIDE && type == TND_I64)
        type = TND_F64;
    node.flexible = left->flexible && right->flexible;
    node.type = compares || logic ? TND_BOOL : type;
    if (node.type == TND_BOOL)
        node.flexible = false;
    TND_TRY(convert(self, &node.left, type, error));
    if (node.right >= 0)
        TND_TRY(convert(self, &node.right, type, error));
    return append(self, node, node_p, error);
}
