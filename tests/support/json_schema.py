"""Checks a value against a JSON schema: the part of the language that our schema files use."""
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_of(value, name):
    if name in ("integer", "number"):
        allowed = int if name == "integer" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, root=None, where="$"):
    """Raises an AssertionError that names the first place that does not match."""
    root = root or schema
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema:
        assert value == schema["const"], f"{where}: {value!r}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where}: {value!r}"
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(is_of(value, name) for name in names), f"{where}: {value!r} is not of {names}"
    if "minimum" in schema and value is not None:
        assert value >= schema["minimum"], f"{where}: {value!r}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            assert name in value, f"{where} has no {name}"
        for name, member in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            assert rule is not False, f"{where}.{name} is not in the schema"
            check(member, rule, root, f"{where}.{name}")
