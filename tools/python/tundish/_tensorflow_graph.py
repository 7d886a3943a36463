"""A dataset of a program of TensorFlow as a topology: the actors, and TensorFlow's line beside each option."""

import re

from ._tensorflow_functions import Operation, Unknown
from ._tensorflow_sources import NEEDLESS, Sources, has_files
from ._tensorflow_values import (
    DIFFERS,
    MISTAKE,
    NOTHING,
    REFUSED,
    WRITE,
    Function,
    Known,
    Named,
    PerReplica,
    Symbol,
    Text,
    known,
    leaves,
)


class Graph(Sources):
    """The topology of one dataset."""

    def __init__(self, program, dataset, name, folder):
        self.program, self.dataset, self.name, self.folder = program, dataset, name, folder
        self.notes, self.file = program.notes, program.file
        self.order, self.reader, self.stages, self.batch, self.feeder, self.top = [], [], [], [], [], []
        self.size = None  # rows of a batch
        # lost: TensorFlow does not know the batch size; changed: rows were left out or added
        self.batched = self.lost = self.changed = False
        self.counted = []  # calls that take or skip batches
        self.repeats, self.skeletons, self.saves, self.service = [], [], [], None
        self.lanes = self.drop = False
        self.strategy = dataset.strategy
        self.replicas = program.replicas_of(self.strategy)
        self.workers = (
            (program.workers() or program.replicas)
            if self.strategy and re.search("MultiWorker|ParameterServer", self.strategy.path)
            else 1
        )
        self.source = self.source_of(dataset.source)
        for call in dataset.calls:
            self.call(call)
        self.finish()

    # ------------------------------------------------------------------------------------- calls

    def call(self, call):
        handler = getattr(self, "do_" + call.name, None)
        if handler is not None:
            handler(call)
        elif call.name in NEEDLESS or call.name in ("names_prefetch", "names_cache", "names_with_options"):
            self.needless(call)
        elif call.name.startswith("names_"):
            self.refuse(call, "it works on names of files: write those that are wanted into `files:`")
        elif call.name.startswith("each_file_"):
            self.refuse(
                call,
                "it works on the rows of each file; here all files are one source. A header of CSV is `header: true` of the"
                " source csv",
            )
        else:
            self.refuse(call, self.program.rows.advice("tf.data.Dataset." + call.name)[1])

    def needless(self, call):
        self.note(NOTHING, call, NEEDLESS.get(call.name, "it changes the speed only"))

    def stage(self, operations):
        if not self.stages or self.stages[-1][0] != "prep":
            self.stages.append(("prep", []))
        self.stages[-1][1].extend(operations)

    def mapped(self, call, kind, value):
        """An entry of the order, unless rows were left out or added before it."""
        if self.changed:
            self.refuse(
                call,
                "it follows a call that leaves out or adds rows, whose number is not known then: an order comes before operations. "
                "Write it before that call, or store the rows by `tundish head --npz` and begin with them",
            )
            return
        self.order.append(({kind: value}, self.at(call)))

    def count(self, call, name):
        value = known(call.given.get(name))
        if not isinstance(value, int) or isinstance(value, bool):
            text = getattr(call.given.get(name), "text", "?")
            self.note(WRITE, call, f"`{text}` is not known before the program runs: write it into {self.name}.yaml, where 1 is now")
            return 1
        return value

    def do_list_files(self, call):
        shuffled = known(call.given.get("shuffle", Known(None)))
        seed = known(call.given.get("seed", Known(None)))
        if shuffled is False:
            return
        if self.source and next(iter(self.source)) in ("tfrecord", "text", "csv", "raw"):
            self.order.append(({"files": {"shuffle": {"seed": seed} if isinstance(seed, int) else {}}}, self.at(call)))
            if seed is None:
                self.notes.add(
                    DIFFERS,
                    call.line,
                    f"`{call.text}` shuffles the files in another way in every run; here `seed:` of the topology decides",
                )

    def do_names_shuffle(self, call):
        seed, size = known(call.given.get("seed", Known(None))), known(call.given["buffer_size"])
        options = {"buffer": size} if isinstance(size, int) and size > 0 else {}
        self.order = [entry for entry in self.order if "files" not in entry[0]]
        self.order.append(({"files": {"shuffle": {**options, **({"seed": seed} if isinstance(seed, int) else {})}}}, self.at(call)))

    def do_names_shard(self, call):
        if isinstance(call.given["num_shards"], Symbol) and isinstance(call.given["index"], Symbol):
            self.lanes = True
            self.top.append(("lanes", self.workers, self.at(call)))
        else:
            self.refuse(
                call,
                "it chooses files: write those that are wanted into `files:`, or `lanes:` and `shard: file` for a part for each"
                " worker",
            )

    def do_shuffle(self, call):
        if self.batched:
            self.refuse(
                call, "it shuffles whole batches, which is not offered: write shuffle before batch, which also mixes the rows"
            )
            return
        given = call.given
        size = known(given.get("buffer_size"))
        options = {"buffer": size} if isinstance(size, int) and size > 0 else {"buffer": "all"}
        if isinstance(size, int) and size == 0:
            self.note(MISTAKE, call, "TensorFlow refuses a buffer of 0 rows")
        if not isinstance(size, int):
            self.note(DIFFERS, call, "the buffer is not known before the program runs, so all rows are shuffled")
        seed, every = known(given.get("seed", Known(None))), known(given.get("reshuffle_each_iteration", Known(None)))
        overall = known(self.program.scopes[0].get("tf.random.set_seed", Known(None)))
        options.update({"seed": seed} if isinstance(seed, int) else {})
        options.update({"global_seed": overall} if isinstance(overall, int) else {})
        options.update({"reshuffle_each_iteration": False} if every is False else {})
        self.mapped(call, "shuffle", options)

    def do_take(self, call):
        count = self.count(call, "count")
        if self.batched:
            if count >= 0:
                if self.repeats or self.taken("take"):
                    self.count_rows()
                self.batched_count(call, "take", max(count, 1))
        else:
            self.mapped(call, "take", count if count >= 0 else "all")

    def do_skip(self, call):
        count = self.count(call, "count")
        if self.batched and count >= 0:
            if self.repeats or self.taken("take", "skip"):
                self.count_rows()
            self.batched_count(call, "skip", count)
        else:
            self.mapped(call, "skip", count if count >= 0 else "all")

    def batched_count(self, call, kind, count):
        self.batch.append((kind, count, self.at(call)))
        self.counted.append((kind, count, call))

    def taken(self, *kinds):
        return any(kind in kinds for kind, _, _ in self.counted)

    def count_rows(self, grouped=None):
        """Batches that were taken, skipped and repeated become rows, before a call that counts them anew."""
        if self.drop and (grouped or self.repeats):
            self.whole_batches(grouped or self.repeats[0][1])
        counted, self.counted = self.counted, []
        self.batch = [entry for entry in self.batch if entry[0] not in ("skip", "take")]
        for kind, count, call in counted:
            if any(entry[0] == "bucket" for entry in self.batch):
                self.refuse(call, "it counts batches of several sizes, of which other batches are made")
            else:
                self.mapped(call, kind, count * self.size)
        for count, call in self.repeats:
            if not self.drop and (self.rows() or 1) % self.size:
                self.note(DIFFERS, call, "a batch that is not full at the end of the data is filled here with those that follow")
            self.mapped(call, "repeat", "forever" if count is None else count)
        self.repeats = []

    def do_repeat(self, call):
        value = call.given.get("count", Known(None))
        count = -1 if value == Known(None) else self.count(call, "count")
        forever = count < 0
        if self.batched:
            self.repeats.append((None if forever else count, call))
        else:
            self.mapped(call, "repeat", "forever" if forever else count)

    def do_shard(self, call):
        count, index = (call.given.get(name) for name in ("num_shards", "index"))
        options = {}
        for name, value in (("count", count), ("index", index)):
            number = value.name if isinstance(value, Symbol) else known(value)
            if isinstance(value, Symbol):
                self.top.append(
                    (
                        "lanes",
                        self.workers,
                        f"{self.file}:{self.strategy.line}: one for each worker" if self.strategy else "one for each worker",
                    )
                )
            if number is None:
                self.refuse(
                    call,
                    f"`{getattr(value, 'text', '?')}` is not known before the program runs."
                    f" {self.program.rows.advice('tf.data.Dataset.shard')[1]}",
                )
                return
            options[name] = number
        if self.batched:
            if not isinstance(self.size, int):
                self.refuse(call, "the size of the batches that it divides is not known")
                return
            options["rows"] = self.size
            self.count_rows()
        self.mapped(call, "shard", options)

    def do_window(self, call):
        size, shift, stride = (known(call.given.get(name, Known(None))) for name in ("size", "shift", "stride"))
        if not isinstance(size, int):
            size = self.count(call, "size")
        options = {
            "size": size,
            **({"shift": shift} if isinstance(shift, int) else {}),
            **({"stride": stride} if isinstance(stride, int) and stride > 1 else {}),
        }
        if known(call.given.get("drop_remainder", Known(False))):
            options["drop_remainder"] = True
        self.notes.add(DIFFERS, call.line, f"`{call.text}` makes datasets; here a window is a row with one more axis")
        self.mapped(call, "window", options)

    def do_interleave(self, call):
        cycle, block = known(call.given.get("cycle_length", Known(None))), known(call.given.get("block_length", Known(1)), 1) or 1
        if call.given.get("files"):
            if not isinstance(cycle, int):
                self.note(
                    DIFFERS, call, "without cycle_length TensorFlow's order depends on its machine; here `cycle: 8` is written"
                )
                cycle = 8
            self.order.append(({"interleave": {"cycle": cycle, **({"block": block} if block != 1 else {})}}, self.at(call)))
            return
        found = call.given.get("copies")
        if found and not found[1] and self.batched and isinstance(cycle, int) and isinstance(self.size, int) and block == 1:
            self.count_rows(grouped=call)
            self.order.append(({"repeat": {"count": found[0], "group": cycle * self.size}}, self.at(call)))
            self.lost = True
            return
        self.refuse(
            call, "it is offered over files, and for batches that are repeated: lambda *batch: from_tensors(batch).repeat(n)"
        )

    def do_flat_map(self, call):
        if call.given.get("files"):
            self.note(NOTHING, call, "one file follows the other in a source")
            return
        if call.given.get("windows"):
            self.note(NOTHING, call, "a window is a row")
            return
        found = call.given.get("copies")
        if found is None or self.batched:
            self.refuse(call, self.program.rows.advice("tf.data.Dataset.flat_map")[1])
            return
        count, divides = found
        if divides:
            self.stage([Operation("unbatch", {"columns": leaves(call.given["element"])}, call.line, call.text)])
        if count != 1:
            self.stage([Operation("repeat_rows", {"times": count}, call.line, call.text)])
        self.changed = True

    def do_map(self, call):
        unknown = call.given.get("unknown")
        if self.batched:
            self.lost = self.lost or not self.drop  # a static shape tells the size
            if unknown is None and any(step.name in ("reshape", "transpose") for step in call.given["steps"]):
                unknown = Unknown(call.line, "it changes the shape of a batch; an operation has single rows")
        if unknown is None:
            steps = call.given["steps"]
            if steps and steps[0].name == "folder":
                steps = self.pictures(steps)
            self.stage(steps)
            return
        function = call.given["map_func"]
        name = function.name if isinstance(function, Function) and function.name != "lambda" else f"map_{call.line}"
        self.skeleton("map", call, name, function, unknown)

    def skeleton(self, kind, call, name, function, unknown):
        """A function to complete, for one that has no operation."""
        module, columns = f"{self.name}_ops", leaves(call.given["element"])
        while any(entry[4] == name for entry in self.skeletons if entry[0] != "rows"):
            name += "_"
        self.skeletons.append((kind, module, call, columns, name, function))
        if self.program.language == "c":
            self.note(WRITE, call, f"{unknown.why} (line {unknown.line}): complete `{name}` in {module}.c, and compile it")
            self.stage([Operation("plugin", f"{module}.{name}", call.line, call.text)])
            return
        where = f"(line {unknown.line}): complete `{name}` in {module}.py, and `makes:` in {self.name}.yaml"
        self.note(WRITE, call, f"{unknown.why} {where}. --c writes it in C")
        options = {"call": f"{module}:{name}", "columns": columns, "makes": self.types(columns)}
        options.update({"rows": "filter"} if kind == "filter" else {})
        self.stage([Operation("python", options, call.line, call.text)])

    def types(self, columns):
        """Types to begin with for columns that a function makes: class numbers are integers."""
        steps = [step for call in self.dataset.calls for step in call.given.get("steps", [])]
        classes = {step.options["column"] for step in steps if step.name == "one_hot"}
        return {column: "i64" if column in classes else "f32" for column in columns}

    def pictures(self, steps):
        """Files that a function reads are rows of the source."""
        for step in steps:
            if step.name == "decode_image" and not step.options["then"]:
                step.options["then"].append({"resize": {"size": 224}})
                self.notes.add(
                    WRITE,
                    step.line,
                    "`then:` of decode_image gives all pictures one shape: [{resize: {size: 224}}] is now in the topology",
                )
        return [step for step in steps if step.name != "folder"]

    def do_filter(self, call):
        unknown = call.given.get("unknown")
        if self.batched:
            self.refuse(call, "it leaves out whole batches: write filter before batch, for single rows")
            return
        if unknown is None:
            self.stage([Operation("filter", {"expr": call.given["expr"]}, call.line, call.text)])
        else:
            self.skeleton("filter", call, f"keeps_{call.line}", call.given["predicate"], unknown)
        self.changed = True

    def do_enumerate(self, call):
        start = known(call.given.get("start", Known(0)), 0)
        if self.batched or self.changed:
            self.refuse(
                call,
                "it numbers batches, or rows after others were left out or added: the operation `enumerate` numbers the samples of"
                " an epoch",
            )
            return
        self.stage([Operation("enumerate", {"into": "number", **({"start": start} if start else {})}, call.line, call.text)])

    def do_cache(self, call):
        if any("shuffle" in entry for entry, _ in self.order):
            self.notes.add(
                DIFFERS,
                call.line,
                f"`{call.text}` stores the order of the shuffle before it, which TensorFlow then repeats in every epoch; here each"
                " epoch has an order of its own. `reshuffle_each_iteration: false` repeats it",
            )
        place = call.given.get("filename")
        folder = known(place) if place is not None else None
        entries = [("kind", "cache", self.at(call)), ("limit", "4GiB", "what a lane may store; what does not fit is made again")]
        if folder:
            entries.append(("store", {"dir": folder}, self.at(call)))
        if any(stage[0] == "keep" for stage in self.stages):
            self.needless(call._replace(name="cache again"))
            return
        self.stages.append(("keep", entries))

    def do_batch(self, call):
        value = call.given["batch_size"]
        size = value.size if isinstance(value, PerReplica) else self.count(call, "batch_size")
        drop = bool(known(call.given.get("drop_remainder", Known(False))))
        if isinstance(call.given.get("drop_remainder"), Text):
            self.note(
                WRITE,
                call,
                f"whether a short batch is dropped is not known before the program runs: `remainder:` in {self.name}.yaml",
            )
        if size < 1:
            self.note(MISTAKE, call, "a batch has at least one row")
            size = 1
        if self.batched:
            self.count_rows(grouped=call)
            self.notes.add(DIFFERS, call.line, f"`{call.text}` makes batches of batches; here it is one batch of all their rows")
            self.size *= size
        else:
            self.size, self.per_replica = size, not isinstance(value, PerReplica)
        if self.is_ragged and call.name == "batch":
            self.note(
                MISTAKE, call, "rows of unequal lengths cannot be batched, and TensorFlow ends with an error; here they are padded"
            )
        self.lost = call.name == "rebatch" or "num_parallel_calls" in call.given or "of_generator" in call.given
        self.batched, self.drop = True, drop
        self.batch = [entry for entry in self.batch if entry[0] not in ("size", "remainder")] + [("size", self.size, self.at(call))]
        if drop:
            self.batch.append(("remainder", "drop", self.at(call)))

    def do_rebatch(self, call):
        size = known(call.given["batch_size"])
        if not isinstance(size, int) or size < 1:
            self.refuse(call, self.program.rows.advice("tf.data.Dataset.rebatch")[1] + " A list of sizes is not offered")
            return
        if self.drop:
            self.refuse(call, "the rows that the batch before it drops are kept here")
        self.count_rows()
        self.batched, self.size = False, None
        self.do_batch(call)

    def do_padded_batch(self, call):
        self.do_batch(call)
        value = known(call.given.get("padding_values", Known(None)))
        self.batch.append(("ragged", "pad", self.at(call)))
        if isinstance(value, (int, float)) and value:
            self.batch.append(("pad_value", value, self.at(call)))
        shapes = known(call.given.get("padded_shapes", Known(None)))
        if isinstance(shapes, list) and len(shapes) == 1 and isinstance(shapes[0], int):
            self.stage(
                [
                    Operation(
                        "pad_ragged",
                        {"column": leaves(call.given["element"])[0], "to": shapes[0], "value": value or 0},
                        call.line,
                        call.text,
                    )
                ]
            )
        elif shapes is not None:
            self.note(WRITE, call, "rows are padded to the longest of a batch; the operation `pad_ragged` pads to a length")

    def do_ragged_batch(self, call):
        self.do_batch(call)
        self.batch.append(("ragged", "pack", self.at(call)))

    def do_bucket_by_sequence_length(self, call):
        bounds, sizes = known(call.given["bucket_boundaries"]), known(call.given["bucket_batch_sizes"])
        if not bounds or not sizes:
            self.refuse(call, "the boundaries and sizes are not known before the program runs")
            return
        options = {"column": leaves(call.given["element"])[0], "bounds": list(bounds), "sizes": list(sizes)}
        value = known(call.given.get("padding_values", Known(None)))
        options.update({"value": value} if isinstance(value, (int, float)) and value else {})
        options.update({"pad": "bound"} if known(call.given.get("pad_to_bucket_boundary", Known(False))) else {})
        options.update({"drop_remainder": True} if known(call.given.get("drop_remainder", Known(False))) else {})
        self.batch.append(("bucket", options, self.at(call)))
        self.batched, self.size = True, max(sizes)

    def do_unbatch(self, call):
        if self.batched:
            self.count_rows()
            self.batched, self.batch = False, []
            if self.drop:
                self.note(DIFFERS, call, "rows that the batch before it drops are fed here")
            self.note(NOTHING, call, "rows stay rows until the last batch")
            return
        self.stage([Operation("unbatch", {"columns": leaves(call.given["element"])}, call.line, call.text)])
        self.changed = True

    def do_ignore_errors(self, call):
        self.errors = self.at(call)

    def do_with_options(self, call):
        values = getattr(call.given["options"], "values", {})
        for name, (value, line, text) in values.items():
            policy = value.path.split(".")[-1] if isinstance(value, Named) else None
            if name == "experimental_distribute.auto_shard_policy" and policy in ("OFF", "DATA", "FILE", "AUTO", "HINT"):
                self.policy = policy
                self.policy_line = line
                continue
            root = name.split(".")[0]
            offered, advice = self.program.rows.advice(f"tf.data.Options.{root}")
            self.notes.add(NOTHING if "nothing is written" in advice.lower() else DIFFERS, line, f"`{text}`: {advice}")

    def do_service(self, call):
        self.service = call
        policy = call.given.get("processing_mode")
        if (
            isinstance(policy, Named)
            and not policy.path.endswith("OFF")
            or isinstance(known(policy, None), str)
            and known(policy) != "parallel_epochs"
        ):
            self.note(DIFFERS, call, "each row is fed once, whatever the policy says")

    # ------------------------------------------------------------------------------------ the end

    policy, policy_line, errors, per_replica, is_ragged = "AUTO", 0, None, True, False

    def finish(self):
        dataset = self.dataset
        if not self.batched:
            self.unbatched()
        self.end_epochs()
        self.settle_cache()
        self.settle_order()
        if dataset.distributed:
            self.distribute()
        elif self.strategy is None:
            self.replicas = 1
        if self.lanes and not any(entry[0] == "lanes" for entry in self.top):
            self.workers = max(self.workers, 2)
            self.top.append(("lanes", self.workers, "one for each worker, which reads the files of its own"))
        if self.lanes:
            self.reader.append(("shard", "file", "each worker reads its own files"))

    def settle_order(self):
        """A generator is read in order."""
        if "python" not in self.source:
            return
        for entry, comment in self.order:
            line, text = comment.split(":", 2)[1:]
            self.notes.add(
                REFUSED,
                int(line),
                f"`{text.strip()}`: the rows of a generator have no other order; an object with __len__ and __getitem__ has one "
                "(tundish help python_ops)",
            )
        self.order = []

    def settle_cache(self):
        """A cache is left out where none is possible, and stores what random operations drew first, as TensorFlow's does."""
        at = next((number for number, stage in enumerate(self.stages) if stage[0] == "keep"), None)
        if at is None:
            return
        entries = self.stages[at][1]
        kept = next(
            (kind for entry, _ in self.order for kind in entry if kind in ("interleave", "window")),
            "python" if "python" in self.source else None,
        )
        if kept:
            line = int(entries[0][2].split(":")[1])
            why = (
                "a generator has no rows that are found again"
                if kept == "python"
                else f"a cache does not know which rows `{kept}` of an order puts at a place"
            )
            self.notes.add(
                REFUSED,
                line,
                f"`cache`: {why}. It is left out: rows are made again in each epoch. Without the `{kept}`, or with arrays, it is"
                " possible",
            )
            del self.stages[at]
        elif any(step.name.startswith("random_") for stage in self.stages[:at] for step in stage[1]):
            entries.append(("freeze", True, f"{entries[0][2]} after random operations, whose first draw it stores"))

    def unbatched(self):
        line = self.dataset.distributed or (self.dataset.calls[-1] if self.dataset.calls else self.dataset.source)
        if self.dataset.distributed:
            self.size = 32
            self.notes.add(
                MISTAKE,
                line.line,
                f"`{line.text}` distributes a dataset without a batch, and TensorFlow ends with an error: what was meant is a"
                f" batch, 32 in {self.name}.yaml",
            )
            self.batch.append(("size", 32, f"{self.file}:{line.line}: the program has no batch"))
        else:
            self.size = 1
            self.batch.append(("size", 1, f"{self.file}:{line.line}: the program has no batch: single rows"))

    def endless(self):
        """The entry of the order that repeats forever, if no `take` ends it."""
        at = [number for number, (entry, _) in enumerate(self.order) if entry.get("repeat") == "forever"]
        return at[-1] if at and not any("take" in entry for entry, _ in self.order[at[-1] :]) else None

    def end_epochs(self):
        """Passes over the data: of repeat() after batch, of loops and of fit."""
        dataset, count, comments, forever = self.dataset, 1, [], None
        for times, call in self.repeats:
            if times is None:
                forever = self.at(call)
            else:
                count *= times
                comments.append(self.at(call))
        if dataset.epochs is not None:
            times = known(dataset.epochs.given["count"])
            if isinstance(times, int) and times > 0:
                count *= times
            else:
                self.notes.add(
                    WRITE,
                    dataset.epochs.line,
                    f"`{dataset.epochs.text}`: the number of epochs is not known before the program runs: write `epochs:` of the "
                    f"reader in {self.name}.yaml, where it is {count}",
                )
            comments.append(f"{self.file}:{dataset.epochs.line}: {dataset.epochs.text}")
        steps = known(dataset.steps.given["count"]) if dataset.steps else None
        endless = self.endless()
        if isinstance(steps, int) and steps > 0:
            self.limit(steps, forever, endless)
        elif forever or endless is not None:
            self.reader.append(("epochs", "forever", forever or self.order[endless][1]))
            if endless is not None:
                self.batch.append(("span_epochs", True, f"{self.order.pop(endless)[1]} before batch"))
            return
        if count > 1:
            self.reader.append(("epochs", count, "; ".join(comments)))

    def limit(self, steps, forever, endless):
        """A loop takes so many steps of each new iterator."""
        at = f"{self.file}:{self.dataset.steps.line}: {self.dataset.steps.text}"
        if self.changed or "python" in self.source:
            self.batch.append(("take", steps, at))
            if endless is not None:
                self.order.pop(endless)
            if forever or endless is not None:
                self.notes.add(
                    DIFFERS,
                    self.dataset.steps.line,
                    f"`{self.dataset.steps.text}`: an epoch ends with the data if they have fewer than {steps} batches",
                )
            return
        if forever and endless is None:
            self.order.append(({"repeat": "forever"}, forever))
        if forever or endless is not None:
            self.order.append(({"take": steps * self.size}, at))
        else:
            self.batch.append(("take", steps, at))

    def distribute(self):
        call, strategy = self.dataset.distributed, self.strategy
        at, several = self.at(call), self.workers > 1
        if several:
            self.replicas = max(self.replicas, self.workers)
        if self.dataset.by_function:
            if self.per_replica:
                self.batch = [
                    (
                        name,
                        self.size * self.replicas if name == "size" else value,
                        f"{comment}, for each of {self.replicas} replicas" if name == "size" else comment,
                    )
                    for name, value, comment in self.batch
                ]
            if several and not any(entry[0] == "lanes" for entry in self.top) and not self.lanes:
                self.undivided(call, "the function does not shard", self.replicas == self.workers)
        arrays = not has_files(self.dataset)
        if (
            several
            and not arrays
            and not self.dataset.by_function
            and not self.lanes
            and self.policy in ("AUTO", "FILE")
            and "ParameterServer" not in strategy.path
        ):
            self.shard_files(call)
        if self.replicas > 1:
            self.batch.append(("replicas", self.replicas, at))
            legacy = (arrays and self.policy in ("AUTO", "DATA")) or self.lost or self.policy == "DATA"
            if legacy and not self.dataset.by_function and "ParameterServer" not in strategy.path:
                why = (
                    f"policy of line {self.policy_line}"
                    if self.policy_line
                    else ("the source has no files" if arrays else "TensorFlow does not know the batch size")
                )
                self.batch.append(("split", "rebatch_legacy", f"{self.file}:{call.line}: {why}"))
        if self.policy == "OFF" and several and not self.dataset.by_function:
            self.undivided(call, f"AutoShardPolicy.OFF of line {self.policy_line}", not self.lanes and self.may_part())
        laned = self.lanes or any(entry[0] == "lanes" for entry in self.top)
        if several and laned and self.may_part() and "ParameterServer" not in strategy.path:
            self.batch.append(("apart", True, f"{self.file}:{call.line}: each worker feeds its own replicas"))

    def may_part(self):
        """Whether lanes can feed replicas of their own as workers do there: each replica gets a row of a full batch, and
        batches are not counted, which each worker does for itself, nor dropped by a function, of which they are parts."""
        if self.counted or self.dataset.steps or not isinstance(self.size, int) or (self.drop and self.dataset.by_function):
            return False
        interval = -(-self.size // self.replicas)
        return self.size >= self.replicas and (not self.lost or interval * (self.replicas - 1) < self.size)

    def undivided(self, call, why, simple):
        """Every worker has all rows."""
        if simple and "python" not in self.source:
            self.top.append(("lanes", self.workers, "one for each worker"))
            self.reader.append(("shard", "off", f"{self.file}:{call.line}: {why}, so every worker has all rows"))
            return
        self.note(
            DIFFERS, call, f"{why}, so every worker has all rows there; here each row is fed once. With `lanes: {self.workers}`"
            " `shard: off` of the reader does that"
        )

    def shard_files(self, call):
        files = next(iter(self.source.values())).get("files")
        if (
            isinstance(files, str)
            and "*" not in files
            and "[" not in files
            or isinstance(files, list)
            and len(files) < self.workers
        ):
            self.note(
                MISTAKE,
                call,
                f"{self.workers} workers share fewer files than workers, and TensorFlow ends with an error on some"
                " of them; here all replicas get their part of every batch",
            )
            return
        self.lanes = True
