/*  actors/expression/formula.c - reads the text of a formula. */
#include <string.h>

#include "actors/expression/expression_internal.h"

#include "actors/text/number_text.h"

typedef struct {
    tnd_formula_t *formula;
    const tnd_schema_t *in;
    const char *at; /* the next token, after spaces */
    int depth;
    tnd_error_t *error;
} parser_t;

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_spaces(parser_t *self)
{
    while (*self->at != '\0' && strchr(" \t\n", *self->at) != NULL)
        self->at++;
}

static size_t word_size(const char *at)
{
    size_t size = 0;
    while (is_letter(at[size]) || is_digit(at[size]))
        size++;
    return size;
}

/*  Consumes this operator or word. */
static bool take(parser_t *self, const char *token)
{
    size_t size = strlen(token);
    if (strncmp(self->at, token, size) != 0 || (is_letter(*token) && word_size(self->at) != size))
        return false;
    self->at += size;
    skip_spaces(self);
    return true;
}

static tnd_status_t parse_or(parser_t *self, int *node_p);

static tnd_status_t add(parser_t *self, tnd_node_t node, int *node_p)
{
    return tnd_formula_add(self->formula, node, node_p, self->error);
}

static tnd_status_t parse_number(parser_t *self, int *node_p)
{
    const char *first = self->at, *at = first;
    tnd_node_t node = {.kind = TND_NODE_NUMBER, .at = first, .flexible = true, .type = TND_I64};
    while (
        is_digit(*at) || *at == '.' ||
        ((*at == 'e' || *at == 'E') && (is_digit(at[1]) || is_digit(at[1] != '\0' ? at[2] : 0))) ||
        ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E') && at > first)) {
        if (!is_digit(*at))
            node.type = TND_F64;
        at++;
    }
    size_t size = (size_t)(at - first);
    if (is_letter(*at) || !tnd_number_text(node.type, first, size, &node.bits))
        return tnd_fail_about(self->error, first, "`%.*s` is not a number%s",
                              (int)(size + word_size(at)), first,
                              node.type == TND_I64 ? " of type i64" : "");
    self->at = at;
    skip_spaces(self);
    return add(self, node, node_p);
}

static tnd_status_t find_column(const parser_t *self, const char *at, const char *name,
                                uint32_t *index_p)
{
    char text[256];
    int index = tnd_schema_find(self->in, name);
    *index_p = (uint32_t)index;
    if (index >= 0)
        return TND_OK;
    tnd_nearest_t nearest = {.word = name};
    for (uint32_t i = 0; i < self->in->count; i++)
        tnd_nearest_offer(&nearest, self->in->columns[i].name);
    return tnd_fail_about(self->error, at, "unknown column `%s`; the columns here are: %s%s%s%s",
                          name, tnd_schema_text(self->in, text, sizeof text),
                          nearest.best != NULL ? "; did you mean `" : "",
                          nearest.best != NULL ? nearest.best : "",
                          nearest.best != NULL ? "`?" : "");
}

/*  Columns with more than one number per row have one shape. */
static tnd_status_t check_shape(parser_t *self, const char *at, const tnd_column_t *column)
{
    tnd_column_t *shape = &self->formula->shape;
    if (!column->ragged && tnd_column_elements(column) == 1)
        return TND_OK;
    if (shape->rank == 0) {
        shape->rank = column->rank;
        shape->ragged = column->ragged;
        memcpy(shape->shape, column->shape, sizeof shape->shape);
        return TND_OK;
    }
    if (shape->rank == column->rank && shape->ragged == column->ragged &&
        memcmp(shape->shape, column->shape, shape->rank * sizeof shape->shape[0]) == 0)
        return TND_OK;
    return tnd_fail_about(self->error, at,
                          "column `%s` has another shape than the column before it; columns of a "
                          "formula have one shape%s, or one number per row",
                          column->name, column->ragged ? " and one `max`" : "");
}

static tnd_status_t add_column(parser_t *self, const char *at, const char *name, int *node_p)
{
    uint32_t index;
    TND_TRY(find_column(self, at, name, &index));
    const tnd_column_t *column = &self->in->columns[index];
    tnd_node_t node = {.kind = TND_NODE_COLUMN, .at = at, .column = index, .type = TND_I64};
    if (column->dtype == TND_U64)
        return tnd_fail_about(self->error, at,
                              "column `%s` is u64, and integers are computed as i64; `cast` it "
                              "before",
                              name);
    if (column->dtype == TND_BOOL)
        node.type = TND_BOOL;
    else if (tnd_dtype_is_float(column->dtype))
        node.type = column->dtype == TND_F64 ? TND_F64 : TND_F32;
    TND_TRY(check_shape(self, at, column));
    self->formula->reads |= UINT64_C(1) << index;
    return add(self, node, node_p);
}

/*  How many values the rows of a ragged column have, as one number per row. */
static tnd_status_t add_length(parser_t *self, const char *at, const char *name, int *node_p)
{
    uint32_t index;
    TND_TRY(find_column(self, at, name, &index));
    const tnd_column_t *column = &self->in->columns[index];
    if (!column->ragged)
        return tnd_fail_about(self->error, at,
                              "column `%s` is not ragged: all its rows have one length", name);
    self->formula->reads |= UINT64_C(1) << index;
    return add(self,
               (tnd_node_t){.kind = TND_NODE_LENGTH, .at = at, .column = index, .type = TND_I64},
               node_p);
}

/*  The name of a column, with or without backquotes. */
static tnd_status_t take_name(parser_t *self, char name[TND_COLUMN_NAME_MAX])
{
    const char *first = self->at, *at = first;
    bool quoted = *at == '`';
    size_t size = quoted ? strcspn(++at, "`") : word_size(at);
    if (quoted && at[size] == '\0')
        return tnd_fail_about(self->error, first, "the backquote has no second one");
    if (size == 0 || size >= TND_COLUMN_NAME_MAX)
        return tnd_fail_about(self->error, first, "the name of a column has 1 to %d characters",
                              TND_COLUMN_NAME_MAX - 1);
    memcpy(name, at, size);
    name[size] = '\0';
    self->at = at + size + quoted;
    skip_spaces(self);
    return TND_OK;
}

static tnd_status_t parse_name(parser_t *self, int *node_p)
{
    char name[TND_COLUMN_NAME_MAX];
    const char *first = self->at;
    bool quoted = *first == '`';
    TND_TRY(take_name(self, name));
    if (!quoted && strcmp(name, "length") == 0 && take(self, "(")) {
        TND_TRY(take_name(self, name));
        if (!take(self, ")"))
            return tnd_fail_about(self->error, first, "`length` is of one column: `length(x)`");
        return add_length(self, first, name, node_p);
    }
    if (!quoted && (strcmp(name, "true") == 0 || strcmp(name, "false") == 0))
        return add(
            self,
            (tnd_node_t){
                .kind = TND_NODE_NUMBER, .at = first, .type = TND_BOOL, .bits = *name == 't'},
            node_p);
    return add_column(self, first, name, node_p);
}

static tnd_status_t parse_operand(parser_t *self, int *node_p)
{
    const char *first = self->at;
    if (take(self, "(")) {
        TND_TRY(parse_or(self, node_p));
        if (take(self, ")"))
            return TND_OK;
        return tnd_fail_about(self->error, first, "the parenthesis is not closed");
    }
    if (is_digit(*first) || (*first == '.' && is_digit(first[1])))
        return parse_number(self, node_p);
    size_t size = word_size(first);
    bool word = (size == 2 && strncmp(first, "or", 2) == 0) ||
                (size == 3 && (strncmp(first, "and", 3) == 0 || strncmp(first, "not", 3) == 0));
    if ((is_letter(*first) && !word) || *first == '`')
        return parse_name(self, node_p);
    if (*first == '\0')
        return tnd_fail_about(self->error, first,
                              "the formula ends where a number, a column or `(` should follow");
    return tnd_fail_about(self->error, first,
                          "`%.*s` is at a place where a number, a column or `(` should be",
                          word ? (int)size : 1, first);
}

static tnd_status_t parse_negative(parser_t *self, int *node_p)
{
    tnd_node_t node = {.kind = TND_NODE_NEGATE, .at = self->at, .right = -1};
    if (!take(self, "-"))
        return parse_operand(self, node_p);
    if (++self->depth > TND_DEPTH_MAX)
        return tnd_fail_about(self->error, node.at, "the formula is nested too deeply");
    TND_TRY(parse_negative(self, &node.left));
    self->depth--;
    return add(self, node, node_p);
}

typedef struct {
    const char *token;
    tnd_node_kind_t kind;
    bool swapped;
} operator_t;

/*  A row of operands of one strength, which are combined from the left. */
static tnd_status_t parse_row(parser_t *self, const operator_t *operators,
                              tnd_status_t (*parse)(parser_t *, int *), bool once, int *node_p)
{
    TND_TRY(parse(self, node_p));
    for (int count = 0;; count++) {
        tnd_node_t node = {.at = self->at, .left = *node_p};
        const operator_t *found = operators;
        while (found->token != NULL && !take(self, found->token))
            found++;
        if (found->token == NULL)
            return TND_OK;
        if (once && count > 0)
            return tnd_fail_about(self->error, node.at,
                                  "comparisons do not follow one another; write `a < b and b < c`");
        TND_TRY(parse(self, &node.right));
        node.kind = found->kind;
        if (found->swapped) {
            int left = node.left;
            node.left = node.right;
            node.right = left;
        }
        TND_TRY(add(self, node, node_p));
    }
}

static tnd_status_t parse_product(parser_t *self, int *node_p)
{
    static const operator_t operators[] = {{"*", TND_NODE_MULTIPLY, false},
                                           {"/", TND_NODE_DIVIDE, false},
                                           {"%", TND_NODE_REMAINDER, false},
                                           {.token = NULL}};
    return parse_row(self, operators, parse_negative, false, node_p);
}

static tnd_status_t parse_sum(parser_t *self, int *node_p)
{
    static const operator_t operators[] = {
        {"+", TND_NODE_ADD, false}, {"-", TND_NODE_SUBTRACT, false}, {.token = NULL}};
    return parse_row(self, operators, parse_product, false, node_p);
}

static tnd_status_t parse_comparison(parser_t *self, int *node_p)
{
    static const operator_t operators[] = {{"==", TND_NODE_EQUAL, false},
                                           {"!=", TND_NODE_UNEQUAL, false},
                                           {"<=", TND_NODE_LESS_EQUAL, false},
                                           {">=", TND_NODE_LESS_EQUAL, true},
                                           {"<", TND_NODE_LESS, false},
                                           {">", TND_NODE_LESS, true},
                                           {.token = NULL}};
    return parse_row(self, operators, parse_sum, true, node_p);
}

static tnd_status_t parse_not(parser_t *self, int *node_p)
{
    tnd_node_t node = {.kind = TND_NODE_NOT, .at = self->at, .right = -1};
    if (!take(self, "not"))
        return parse_comparison(self, node_p);
    if (++self->depth > TND_DEPTH_MAX)
        return tnd_fail_about(self->error, node.at, "the formula is nested too deeply");
    TND_TRY(parse_not(self, &node.left));
    self->depth--;
    return add(self, node, node_p);
}

static tnd_status_t parse_and(parser_t *self, int *node_p)
{
    static const operator_t operators[] = {{"and", TND_NODE_AND, false}, {.token = NULL}};
    return parse_row(self, operators, parse_not, false, node_p);
}

static tnd_status_t parse_or(parser_t *self, int *node_p)
{
    static const operator_t operators[] = {{"or", TND_NODE_OR, false}, {.token = NULL}};
    if (++self->depth > TND_DEPTH_MAX)
        return tnd_fail_about(self->error, self->at, "the formula is nested too deeply");
    TND_TRY(parse_row(self, operators, parse_and, false, node_p));
    self->depth--;
    return TND_OK;
}

/*  What to write instead of an operator of other languages. */
static const char *advice_of(const char *at)
{
    static const char *const words[][2] = {{"&&", "; write `and`"},
                                           {"||", "; write `or`"},
                                           {"!", "; write `not`"},
                                           {"=", "; to compare, write `==`"},
                                           {"^", "; powers are not offered"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(at, words[i][0], strlen(words[i][0])) == 0)
            return words[i][1];
    return "";
}

tnd_status_t tnd_formula_parse(tnd_formula_t *self, const char *text, const tnd_schema_t *in,
                               tnd_error_t *error)
{
    parser_t parser = {.formula = self, .in = in, .at = text, .error = error};
    self->text = text;
    skip_spaces(&parser);
    TND_TRY(parse_or(&parser, &self->root));
    if (*parser.at == '\0')
        return TND_OK;
    size_t size = word_size(parser.at);
    return tnd_fail_about(error, parser.at, "`%.*s` is at a place where an operator should be%s",
                          size > 0 ? (int)size : 1, parser.at, advice_of(parser.at));
}
