"""Reads a Perfetto trace.  Independent of the program and of protobuf's libraries; field numbers are
those of Perfetto's protos/perfetto/trace."""
import struct

PACKET = 1
TIMESTAMP, SEQUENCE, TRACK_EVENT, SEQUENCE_FLAGS, TRACK_DESCRIPTOR = 8, 10, 11, 13, 60
EVENT = {4: "annotations", 9: "type", 11: "track", 23: "name", 30: "value", 47: "flows",
         48: "ends"}
TRACK = {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent", 8: "counter"}
PROCESS = {1: "pid", 6: "name"}
THREAD = {1: "pid", 2: "tid", 5: "name"}
COUNTER = {3: "unit"}
ANNOTATION = {3: "number", 6: "text", 10: "name"}
BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Pairs of number and value: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut"
        else:
            raise AssertionError(f"wire type {kind}")
        yield key >> 3, value


def message(data, names, several=()):
    made = {name: [] for name in several}
    for number, value in fields(data):
        name = names[number]  # only what is known is written
        if name in several:
            made[name].append(value)
        else:
            assert name not in made, name
            made[name] = value
    return made


def track_of(data):
    track = message(data, TRACK)
    for part, names in (("process", PROCESS), ("thread", THREAD), ("counter", COUNTER)):
        if part in track:
            track[part] = message(track[part], names)
    for holder in (track, track.get("process", {}), track.get("thread", {})):
        if "name" in holder:
            holder["name"] = holder["name"].decode()
    return track


def event_of(data):
    event = message(data, EVENT, ("annotations", "flows", "ends"))
    event["name"] = event.get("name", b"").decode()
    notes = [message(note, ANNOTATION) for note in event["annotations"]]
    event["notes"] = {note["name"].decode(): note["number"] if "number" in note
                      else note["text"].decode() for note in notes}
    return event


def read(path):
    """Tracks by uuid, and events in the order of the file."""
    tracks, events, flags = {}, [], []
    for number, packet in fields(path.read_bytes()):
        assert number == PACKET, number
        parts = dict(fields(packet))
        assert set(parts) <= {TIMESTAMP, SEQUENCE, TRACK_EVENT, SEQUENCE_FLAGS,
                              TRACK_DESCRIPTOR}, parts
        assert parts[SEQUENCE] == 1
        flags.append(parts.get(SEQUENCE_FLAGS, 0))
        if TRACK_DESCRIPTOR in parts:
            track = track_of(parts[TRACK_DESCRIPTOR])
            assert track["uuid"] not in tracks, track
            tracks[track["uuid"]] = track
        else:
            events.append({**event_of(parts[TRACK_EVENT]), "at": parts[TIMESTAMP]})
    assert flags[0] == 1 and not any(flags[1:]), "the first packet has no earlier state"
    return tracks, events


def name_of(track):
    return track.get("thread", track)["name"]


def check(tracks, events):
    """What holds for every trace.  Returns its slices: track, name, begin and end in ns, notes."""
    last, open_, slices, flows = 0, {}, [], {}
    for event in events:
        assert event["at"] >= last, "timestamps increase"
        last = event["at"]
        track = tracks[event["track"]]
        assert ("counter" in track) == (event["type"] == COUNT), event
        stack = open_.setdefault(event["track"], [])
        if event["type"] == BEGIN:
            assert event["name"]
            stack.append(event)
        elif event["type"] == END:
            begun = stack.pop()  # slices nest: the last one that began ends
            slices.append((track, begun["name"], begun["at"], event["at"], begun["notes"]))
        for flow in event["flows"] + event["ends"]:
            assert flow not in event["flows"] or flow not in event["ends"]
            flows.setdefault(flow, []).append(flow in event["ends"])
    assert not any(open_.values()), "each slice has an end"
    for flow, ends in flows.items():
        assert len(ends) > 1 and ends[-1] and not any(ends[:-1]), (flow, ends)
    return slices


def flow_ways(tracks, events):
    """By flow: its events, as pairs of track name and event name."""
    ways = {}
    for event in events:
        for flow in event["flows"] + event["ends"]:
            ways.setdefault(flow, []).append((name_of(tracks[event["track"]]), event["name"]))
    return ways
