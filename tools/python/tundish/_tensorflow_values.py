"""Values of a program of TensorFlow that is read and not run: datasets, strategies, and what is known of the rest."""

import dataclasses
import pathlib
import re
import typing


class Known(typing.NamedTuple):
    """A number, a text, True, False or None."""

    value: object


class Named(typing.NamedTuple):
    """A name of a module, such as tf.data.AUTOTUNE."""

    path: str


class Text(typing.NamedTuple):
    """A value that only a run would know: how it is written, and of a variable also what it was made of."""

    text: str
    line: int
    origin: str = ""


class Symbol(typing.NamedTuple):
    """What each worker has of its own: `lane` is its number, `lanes` how many workers there are."""

    name: str


class Pattern(typing.NamedTuple):
    """A path that contains the number of the worker, which is * here."""

    text: str


class Config(typing.NamedTuple):
    """A part of TF_CONFIG: `parsed` by json.loads, or still a text."""

    parsed: bool
    keys: tuple = ()


class Function(typing.NamedTuple):
    node: object
    scope: object
    name: str


class Method(typing.NamedTuple):
    owner: object
    name: str


class Context(typing.NamedTuple):
    """The argument of a function that makes the dataset of a worker."""


class PerReplica(typing.NamedTuple):
    """A global batch size that the program divides by the replicas."""

    size: int


class Range(typing.NamedTuple):
    """range(...) of a loop: how many numbers, and which, if they do not begin with 0 or are not counted by 1."""

    count: object
    values: typing.Optional[range] = None


class Transformation(typing.NamedTuple):
    """What Dataset.apply is given: a function of tf.data.experimental and its arguments."""

    path: str
    call: object


class Call(typing.NamedTuple):
    """A call on a dataset: its arguments by name, its line and how it is written."""

    name: str
    given: dict
    line: int
    text: str


@dataclasses.dataclass(eq=False)
class Options:
    values: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class Strategy:
    path: str
    devices: typing.Optional[list]
    line: int
    text: str
    name: str = "strategy"


@dataclasses.dataclass(eq=False)
class Dataset:
    """A source and the calls on it.  `element` is a column, or a tuple or dict of elements."""

    source: Call
    element: object
    calls: tuple = ()
    name: str = "dataset"
    used: bool = False  # another dataset is made of it
    taken: bool = True  # False: a branch makes it that is taken for one that does not run
    fed: bool = False  # a loop or a model takes its batches
    epochs: object = None  # Call of the loop or of fit
    steps: object = None
    strategy: typing.Optional[Strategy] = None
    distributed: typing.Optional[Call] = None
    by_function: bool = False

    @property
    def line(self):
        return (self.calls[-1] if self.calls else self.source).line


class Iterator(typing.NamedTuple):
    dataset: Dataset


class Notes:
    """What is said about the program, by line; the same is said once."""

    def __init__(self, file):
        self.file, self.lines = file, {}

    def add(self, kind, line, text):
        self.lines.setdefault((line, kind, text))

    def of(self, *kinds):
        return [entry for entry in sorted(self.lines, key=lambda entry: entry[0]) if not kinds or entry[1] in kinds]

    def text(self):
        return "".join(f"{self.file}:{line}: {kind}: {text}\n" for line, kind, text in self.of())


MISTAKE, REFUSED, DIFFERS, NOTHING, PROGRAM, WRITE = (
    "mistake",
    "not translated",
    "differs",
    "nothing to write",
    "of the program",
    "to do",
)


class Rows:
    """tensorflow.txt: what a name of TensorFlow is here."""

    def __init__(self):
        here = pathlib.Path(__file__).parent
        beside = here / "tensorflow.txt"
        path = beside if beside.exists() else here.parents[1] / "reference/tensorflow.txt"
        self.rows = {}
        for row in path.read_text(encoding="utf-8").split("\n\n")[1:]:
            names, _, rest = row.partition("\n")
            for name in names.split():
                self.rows[name] = rest

    def advice(self, name):
        """Whether a name is offered, and what is written or done instead: the first paragraph of its row."""
        rest = self.rows.get(name)
        if rest is None:
            return False, "TensorFlow 2.21 has no public name of this kind that is described by `tundish help`"
        first = re.match(r"  (Here|Not offered): ((?:.*\n?)(?:  (?! |[A-Z]\w*: ).*\n?)*)", rest)
        return first[1] == "Here", " ".join(first[2].split())


# Arguments of calls: names, with ? after those that may be missing.
METHODS = {
    name: arguments.split()
    for name, arguments in {
        "apply": "transformation_func",
        "as_numpy_iterator": "",
        "batch": "batch_size drop_remainder? num_parallel_calls? deterministic?",
        "bucket_by_sequence_length": (
            "element_length_func bucket_boundaries bucket_batch_sizes padded_shapes? padding_values? "
            "pad_to_bucket_boundary? no_padding? drop_remainder?"
        ),
        "cache": "filename?",
        "cardinality": "",
        "concatenate": "dataset",
        "enumerate": "start?",
        "filter": "predicate",
        "fingerprint": "",
        "flat_map": "map_func",
        "get_single_element": "",
        "group_by_window": "key_func reduce_func window_size? window_size_func?",
        "ignore_errors": "log_warning?",
        "interleave": "map_func cycle_length? block_length? num_parallel_calls? deterministic?",
        "map": "map_func num_parallel_calls? deterministic? synchronous? use_unbounded_threadpool?",
        "options": "",
        "padded_batch": "batch_size padded_shapes? padding_values? drop_remainder?",
        "prefetch": "buffer_size",
        "ragged_batch": "batch_size drop_remainder? row_splits_dtype?",
        "rebatch": "batch_size drop_remainder?",
        "reduce": "initial_state reduce_func",
        "rejection_resample": "class_func target_dist initial_dist? seed?",
        "repeat": "count?",
        "save": "path compression? shard_func? checkpoint_args?",
        "scan": "initial_state scan_func",
        "shard": "num_shards index",
        "shuffle": "buffer_size seed? reshuffle_each_iteration?",
        "skip": "count",
        "snapshot": "path compression? reader_func? shard_func?",
        "sparse_batch": "batch_size row_shape",
        "take": "count",
        "take_while": "predicate",
        "unbatch": "",
        "unique": "",
        "window": "size shift? stride? drop_remainder?",
        "with_options": "options",
    }.items()
}
SOURCES = {
    "tf.data." + name: arguments.split()
    for name, arguments in {
        "Dataset.from_tensor_slices": "tensors",
        "Dataset.from_tensors": "tensors",
        "Dataset.list_files": "file_pattern shuffle? seed?",
        "Dataset.from_generator": "generator output_types? output_shapes? args? output_signature?",
        "TFRecordDataset": "filenames compression_type? buffer_size? num_parallel_reads?",
        "TextLineDataset": "filenames compression_type? buffer_size? num_parallel_reads?",
        "FixedLengthRecordDataset": (
            "filenames record_bytes header_bytes? footer_bytes? buffer_size? compression_type? num_parallel_reads?"
        ),
        "experimental.CsvDataset": (
            "filenames record_defaults compression_type? buffer_size? header? field_delim? use_quote_delim? na_value? "
            "select_cols? exclude_cols?"
        ),
        "Dataset.choose_from_datasets": "datasets choice_dataset stop_on_empty_dataset?",
        "Dataset.sample_from_datasets": "datasets weights? seed? stop_on_empty_dataset? rerandomize_each_iteration?",
    }.items()
}
TRANSFORMATIONS = {
    "tf.data.experimental." + name: arguments.split()
    for name, arguments in {
        "parallel_interleave": "map_func cycle_length block_length? sloppy? buffer_output_elements? prefetch_input_elements?",
        "map_and_batch": "map_func batch_size num_parallel_batches? drop_remainder? num_parallel_calls?",
        "shuffle_and_repeat": "buffer_size count? seed?",
        "unbatch": "",
        "ignore_errors": "log_warning?",
        "enumerate_dataset": "start?",
        "prefetch_to_device": "device buffer_size?",
        "copy_to_device": "target_device source_device?",
        "assert_cardinality": "expected_cardinality",
        "service.distribute": (
            "processing_mode service job_name? consumer_index? num_consumers? max_outstanding_requests? data_transfer_protocol? "
            "compression? cross_trainer_cache? target_workers?"
        ),
    }.items()
}
DTYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "bool": "bool",
    "string": "string",
    "half": "f16",
    "double": "f64",
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def dtype_of(value):
    """The type that tf.float32, np.float32 or "float32" names; None if it is not known."""
    name = value.path.split(".")[-1] if isinstance(value, Named) else value.value if isinstance(value, Known) else None
    return DTYPES.get(name) if isinstance(name, str) else None


def plain(value):
    """The Python value of what is known; raises ValueError."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    raise ValueError


def known(value, default=None):
    """The Python value of what is known, else the default."""
    try:
        return plain(value)
    except ValueError:
        return default


def leaves(element):
    """The columns of an element, in their order."""
    if isinstance(element, str):
        return [element]
    parts = element.values() if isinstance(element, dict) else element
    return [column for part in parts for column in leaves(part)]
