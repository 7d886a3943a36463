"""Functions of a program without an operation: a function of Python, or an operation in C, to complete."""

import ast
import keyword

C_HEAD = """/*  Operations of {file} to complete; examples/operation.c explains the calls:
 *
 *    cc -shared -fPIC {module}.c -o {module}.so -I$(python3 -m tundish --include) */
#include <tundish/tundish.h>
"""
C_OPERATION = """
/*  {file}:{line}: {text}
{original} */
static tnd_status_t {name}_open(void *state, void *shared, const char *options,
                                const tnd_schema_t *in, tnd_schema_t *out, uint32_t *most_p,
                                tnd_error_t *error)
{{
    (void)state, (void)shared, (void)options, (void)out, (void)most_p;
{checks}    /* Columns of the result are added to `out`: tnd_schema_add(out, "name", TND_F32, 0, NULL, error). */
    return TND_OK;
}}

static tnd_status_t {name}_apply(void *state, const tnd_rows_t *in, size_t row,
                                 tnd_random_t *random, tnd_rows_t *out, tnd_error_t *error)
{{
    (void)state, (void)in, (void)row, (void)random, (void)out;
    return tnd_fail(error, "{name} of {module}.c is to be completed");
}}

extern TND_API const tnd_op_ops_t tnd_op_{name};
const tnd_op_ops_t tnd_op_{name} = {{
    .abi = TND_ABI,
    .name = "{name}",
    .caps = {caps},
    .open = {name}_open,
    .apply = {name}_apply,
}};
"""
C_CHECK = """    if (tnd_schema_find(in, "{column}") < 0)
        return tnd_fail(error, "column `{column}` does not exist");
"""


def skeletons(graph):
    """The files of functions to complete: name and text."""
    made = {}
    for entry in graph.skeletons:
        kind, module = entry[:2]
        head = f'"""Functions of {graph.file} to complete: `tundish help python_ops`."""\n'
        if kind == "rows":
            made[f"{module}.py"] = head + rows(graph, entry)
        elif graph.program.language == "c":
            text = made.get(f"{module}.c", C_HEAD.format(file=graph.file, module=module))
            made[f"{module}.c"] = text + operation(graph, entry)
        else:
            made[f"{module}.py"] = made.get(f"{module}.py", head) + function(graph, entry)
    return made


def rows(graph, entry):
    _, module, call, columns, _ = entry
    return (
        f"\n\ndef rows():\n    # {graph.file}:{call.line}: {call.text}\n    # Yields a dict for each row: {', '.join(columns)}.\n"
        f'    raise NotImplementedError("rows of {module}.py is to be completed")\n    yield\n'
    )


def function(graph, entry):
    kind, module, call, columns, name, of_program = entry
    names = ", ".join(f"{column}_" if keyword.iskeyword(column) else column for column in columns)
    told = "the columns, with None for rows that are left out" if kind == "filter" else "the columns of `makes:` in the topology"
    return (
        f"\n\ndef {name}({names}):\n    # {graph.file}:{call.line}: {call.text}\n"
        + "".join(f"    # {line}\n" for line in original(graph.program, of_program))
        + f"    # Gets NumPy arrays of up to 256 rows and returns a dict of {told}.\n"
        f'    raise NotImplementedError("{name} of {module}.py is to be completed")\n'
    )


def operation(graph, entry):
    kind, module, call, columns, name, of_program = entry
    lines = [line.replace("*/", "* /") for line in original(graph.program, of_program)]
    return C_OPERATION.format(
        file=graph.file,
        line=call.line,
        text=call.text.replace("*/", "* /"),
        original=" *\n" + "\n".join(f" *    {line}" for line in lines) if lines else " *",
        name=name,
        module=module,
        checks="".join(C_CHECK.format(column=column) for column in columns),
        caps="TND_OP_DROPS" if kind == "filter" else "0",
    )


def original(program, of_program):
    """The lines of a function of the program."""
    node = getattr(of_program, "node", None)
    return (ast.get_source_segment(program.source, node) or "").splitlines() if node is not None else []
