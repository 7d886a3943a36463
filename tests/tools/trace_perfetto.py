#!/usr/bin/env python3
"""Perfetto's own description of its format reads a trace, where the package `perfetto` is installed."""
import sys

from command import main, same
from ps import hanging, in_step, until
from trace import traced
import perfetto_reader

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    print("the package `perfetto` of PyPI is not installed")
    sys.exit(77)


def test_perfetto_reads_what_was_written(folder):
    with hanging(folder) as (environment, _):
        until(environment, in_step)
        tracks, events, _ = traced(folder, environment, "--last")
    trace = Trace.FromString((folder / "run.pftrace").read_bytes())
    same({packet.track_descriptor.uuid for packet in trace.packet
          if packet.HasField("track_descriptor")}, set(tracks))
    read = [packet for packet in trace.packet if packet.HasField("track_event")]
    same(len(read), len(events))
    types = {perfetto_reader.BEGIN: TrackEvent.TYPE_SLICE_BEGIN,
             perfetto_reader.END: TrackEvent.TYPE_SLICE_END,
             perfetto_reader.INSTANT: TrackEvent.TYPE_INSTANT,
             perfetto_reader.COUNT: TrackEvent.TYPE_COUNTER}
    for packet, event in zip(read, events):
        made = packet.track_event
        same((packet.timestamp, made.track_uuid, made.type, made.name),
             (event["at"], event["track"], types[event["type"]], event["name"]))
        same((list(made.flow_ids), list(made.terminating_flow_ids)),
             (event["flows"], event["ends"]))
        same({note.name: note.string_value or note.uint_value for note in made.debug_annotations},
             event["notes"])
    trace.DiscardUnknownFields()
    same(len(trace.SerializeToString()), (folder / "run.pftrace").stat().st_size)


if __name__ == "__main__":
    main(globals())
