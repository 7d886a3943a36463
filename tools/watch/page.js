/* page.js - shows a model, and follows /live or shows the report of this page. */

const LARGE_GROUP = 8; /* a larger one is shown as one line until it is opened */
const LOG_LINES = 2000;
const $ = id => document.getElementById(id);

const view = {histories: new Map(), model: null, open: null, unfolded: new Set(), session: null, graphs: new Map(), log: [], logNumber: 0};

function clock() {
    return performance.now() / 1000;
}

function show(id, shown) {
    $(id).hidden = !shown;
    return shown;
}

/* --- header, tiles, verdict ------------------------------------------------------------------- */

function showHeader(model) {
    const run = model.run, hosts = run.hosts.filter(host => host.presence !== null).length;
    write($("run"), run.run);
    document.title = `${run.run} – tundish`;
    const stopped = model.processes.some(process => process.state === "stopped");
    let state = model.ended || (stopped ? "stopped" : run.state) || "running", tone = "good";
    if (model.live && model.ended === null && run.waiting_for.length > 0)
        state = `waits for ${run.waiting_for.join(", ")}`;
    if (model.verdict !== null && model.verdict.code >= 11 || stopped || ["killed", "failed", "lost", "gone"].includes(state))
        tone = "bad";
    else if (state !== "running" && state !== "done")
        tone = "warn";
    write($("state"), state);
    $("state").className = `state ${tone}`;
    const facts = [plural(hosts || run.hosts.length, "host"), plural(model.actors.length, "actor")];
    if (run.lanes > 1)
        facts.push(plural(run.lanes, "lane"));
    if (model.live)
        facts.push(`for ${time(run.age_seconds)}`);
    write($("facts"), facts.join(" · "));
}

function tile(key, name, value, below, className) {
    let made = view.tiles.get(key);
    if (made === undefined) {
        made = {root: element("div", `tile ${className || ""}`), name: element("span", ""), value: element("b", ""), below: element("span", "")};
        made.root.append(made.name, made.value, made.below);
        made.value.dataset.figure = `run/${key}`;
        view.tiles.set(key, made);
        $("tiles").append(made.root);
    }
    write(made.name, name);
    write(made.value, value);
    write(made.below, below || "");
    return made;
}

function showTiles(model) {
    const run = model.run, report = model.report, ledger = report ? report.rows : run.ledger_rows;
    const rate = model.live ? model.window.rows_per_second : report.rows_per_second;
    const volume = model.live ? model.window.bytes_per_second : report.bytes_per_second;
    view.tiles = view.tiles || new Map();
    const main = tile("rows_per_second", "rows per second", count(rate), volume ? megabytes(volume) : "", "wide");
    if (!main.chart)
        main.root.prepend(main.chart = drawn("svg", {preserveAspectRatio: "none", "aria-hidden": "true"}));
    tile("steps", "steps", count(report ? report.steps : run.steps), report ? plural(report.epochs, "epoch") : `epoch ${count(run.epoch)}`);
    if (model.live && model.ended === null)
        tile("left", "time left", time(run.run_left_seconds ?? run.epoch_left_seconds),
             run.run_left_seconds !== null ? `of this epoch ${time(run.epoch_left_seconds)}` :
             run.epoch_left_seconds !== null ? "of this epoch" : "not known yet");
    const machine = model.machine;
    if (machine && machine.processors_share !== null)
        tile("machine", "machine's cpu", percent(machine.processors_share),
             machine.memory_bytes === null ? "" : `memory ${percent(machine.memory_used_bytes / machine.memory_bytes)}`);
    const left = ledger.filtered + ledger.bad + ledger.dropped;
    tile("rows", "rows fed", count(report ? ledger.fed : run.rows), left > 0 ? `${count(left)} left out` : "none left out");
    if (report)
        tile("seconds", "took", time(report.seconds), report.versions ? `tundish ${report.versions.tundish}` : "");
    const metrics = report ? Object.assign({}, ...Object.values(report.results)) : run.metrics;
    for (const [name, value] of Object.entries(metrics))
        tile(`metric ${name}`, name, typeof value === "number" ? value.toPrecision(4) : String(value), report ? "" : "of the last step");
    if (!report)
        tile("checkpoint", "checkpoint", run.checkpoint_age_seconds === null ? "none" : `${time(run.checkpoint_age_seconds)} ago`,
             run.checkpoint_steps > 0 ? `at step ${count(run.checkpoint_steps)}` : "");
    show("tiles", true);
}

function fault(one) {
    const made = element("li", "", element("span", one.suffered ? "reason suffered" : "reason", one.reason.replace("_", " ")), one.text);
    if (one.evidence)
        made.append(element("div", "faint", one.evidence));
    if (one.action)
        made.append(element("div", "action", one.action));
    return made;
}

function showVerdict(model) {
    const verdict = model.verdict, report = model.report;
    let tone = "good", sentence, faults = [], advice = "";
    if (report) {
        write($("verdict-title"), "what it did");
        const busy = busiest(model);
        sentence = `${plural(report.steps, "step")}, ${plural(report.rows.fed, "row")}, ${plural(report.epochs, "epoch")} in ${time(report.seconds)}` +
            (busy ? `; busiest was ${busy.name}, at work ${percent(busy.share)} of its time` : "");
    } else if (model.ended !== null) {
        sentence = `the run has ended: ${model.ended}`;
        tone = model.ended === "done" ? "good" : model.ended === "drained" ? "warn" : "bad";
    } else if (verdict === null) {
        sentence = "no judgement yet";
    } else {
        sentence = verdict.sentence;
        faults = verdict.faults;
        tone = verdict.code >= 11 || verdict.code === 1 ? "bad" : verdict.code === 10 ? "warn" : "good";
        if (verdict.limit && verdict.limit.advice && verdict.limit.gain_rows_per_second)
            advice = `${verdict.limit.advice}: ${count(verdict.rows_per_second)} → ${count(verdict.limit.gain_rows_per_second)} rows/s`;
    }
    $("verdict").className = `card verdict ${tone}`;
    write($("sentence"), sentence || "");
    write($("advice"), advice);
    const key = JSON.stringify(faults);
    if (key !== view.faults)
        $("faults").replaceChildren(...faults.map(fault));
    view.faults = key;
    show("verdict", true);
}

/* The actor of a finished run that worked for most of its time. */
function busiest(model) {
    let best = null;
    for (const actor of model.actors) {
        const devices = actor.devices.map(device => device.shares[1] + device.shares[3]);
        const share = Math.max(actor.shares[0] + actor.shares[6], ...devices);
        if (best === null || share > best.share)
            best = {name: actor.name, share};
    }
    return best;
}

/* --- graph ------------------------------------------------------------------------------------ */

/* In a run that goes on, the chain that runs; in a report, all of them. */
function showGraph(model) {
    const parts = new Map();
    const running = model.groups.get(model.run.chain);
    for (const group of model.groups.values()) {
        if (model.live && running && group.part !== running.part)
            continue;
        if (!parts.has(group.part))
            parts.set(group.part, new Map());
        parts.get(group.part).set(group.name, group);
    }
    for (const [part, graph] of view.graphs)
        if (!parts.has(part)) {
            graph.root.remove();
            view.graphs.delete(part);
        }
    /* If the boxes would be too small beside each other, all graphs go from top to bottom. */
    show("graph-card", true);
    const room = $("graph").clientWidth / SMALLEST;
    const upright = [...parts.values()].some(groups => place(groups.values(), false, room).width > room);
    for (const [part, groups] of parts) {
        if (!view.graphs.has(part)) {
            view.graphs.set(part, new Graph(open));
            $("graph").append(view.graphs.get(part).root);
        }
        view.graphs.get(part).show(model, groups, upright, room);
    }
    show("graph-card", parts.size > 0);
    /* All have the scale of the widest one; letters are never smaller than 11 px. */
    const widest = Math.max(...[...view.graphs.values()].map(graph => graph.width));
    for (const graph of view.graphs.values()) {
        graph.root.style.width = `min(${100 * graph.width / widest}%, ${1.15 * graph.width}px)`;
        graph.root.style.minWidth = `${SMALLEST * graph.width}px`;
    }
}

function showLegend() {
    $("legend").replaceChildren(...ACTIVITIES.map(activity => {
        const mark = element("i", activity.name);
        return element("span", "", mark, `${activity.letter} ${activity.text}`);
    }));
}

/* --- actors ----------------------------------------------------------------------------------- */

const COLUMNS = [["name", "actor"], ["host", "host"], ["now", ""], ["strip", ""], ["rows_per_second", "rows/s"], ["volume", "MB/s"],
                 ["queue", "queue"], ["credit", "credit"], ["rows_out", "rows"], ["since", "since"], ["waits", "waits for"]];
const NUMBERS = new Set(["rows_per_second", "volume", "queue", "credit", "rows_out", "since"]);

function row(key, className) {
    let made = view.rows.get(key);
    if (made === undefined) {
        made = {root: element("tr", className), cells: {}};
        for (const [name] of COLUMNS) {
            made.cells[name] = element("td", NUMBERS.has(name) ? "number" : name);
            made.cells[name].dataset.figure = `${key}/${name}`;
            made.root.append(made.cells[name]);
        }
        view.rows.set(key, made);
    }
    made.root.className = className;
    return made;
}

function bar(cell, shares, activities) {
    if (cell.firstChild === null || cell.firstChild.className !== "bar")
        cell.replaceChildren(element("div", "bar", ...activities.map(one => element("i", one.like || one.name))));
    [...cell.firstChild.children].forEach((part, index) => {
        part.style.width = `${(100 * shares[index]).toFixed(2)}%`;
        part.title = `${percent(shares[index])} ${activities[index].text}`;
    });
}

function strip(cell, actor, now) {
    if (view.span === 0 || !view.histories.has(actor.name))
        return bar(cell, actor.shares, ACTIVITIES);
    if (cell.firstChild === null || cell.firstChild.tagName !== "CANVAS")
        cell.replaceChildren(element("canvas", ""));
    drawStrip(cell.firstChild, view.histories.get(actor.name), now, view.span);
}

function actorRow(model, actor, now) {
    const page = actor.page, part = partOf(model, actor.name);
    const made = row(actor.name, `actor${part === "fault" ? " blamed" : part === "victim" ? " victim" : ""}`), cells = made.cells;
    made.root.onclick = () => open(actor.name);
    write(cells.name, actor.name);
    write(cells.host, actor.host);
    if (cells.now.firstChild === null)
        cells.now.append(element("span", ""));
    const stopped = page && page.process.state !== "running" && model.live;
    const activity = ACTIVITIES.find(one => one.letter === actor.letter);
    cells.now.firstChild.className = `tag is-${part === "fault" || stopped || "XT".includes(actor.letter) ? "fault" : part !== "" ? part : activity ? activity.group : "plain"}`;
    write(cells.now.firstChild, actor.letter);
    cells.now.title = stopped ? page.process.state : page ? page.state : "not on this machine";
    strip(cells.strip, actor, now);
    write(cells.rows_per_second, count(actor.rows_per_second));
    write(cells.volume, (actor.bytes_per_second / 1e6).toFixed(1));
    write(cells.queue, page ? count(page.queue) : "–");
    write(cells.credit, page ? count(page.credit) : "–");
    write(cells.rows_out, count(page ? page.rows_out : actor.account ? actor.account.rows_out : null));
    write(cells.since, page && model.live ? time(page.since_seconds) : "");
    write(cells.waits, page && model.live ? page.waits.join(", ") || page.state : "");
    return made.root;
}

function deviceRow(actor, index) {
    const device = actor.devices[index], page = actor.page && actor.page.devices[index];
    const made = row(`${actor.name} ${device.name}`, "device"), cells = made.cells;
    write(cells.name, device.name);
    write(cells.host, actor.host);
    bar(cells.strip, device.shares, DEVICE_ACTIVITIES);
    write(cells.since, page ? time(page.since_seconds) : "");
    write(cells.waits, page ? `${page.state}${page.state === "idle" ? "" : `, replica ${page.replica}, step ${count(page.step)}`}` : "");
    return made.root;
}

/* Many instances as one line: the rates of the slowest, the median and the fastest. */
function foldedRow(model, group, now) {
    const actors = group.actors, made = row(`${group.name} ×`, "actor"), cells = made.cells;
    const rates = actors.map(actor => actor.rows_per_second).sort((a, b) => a - b);
    const blamed = actors.filter(actor => partOf(model, actor.name) === "fault");
    made.root.onclick = () => {
        view.unfolded.add(group.name);
        showActors(view.model);
    };
    write(cells.name, `${group.name} ×${actors.length}`);
    write(cells.host, plural(new Set(actors.map(actor => actor.host)).size, "host"));
    bar(cells.strip, group.shares, ACTIVITIES);
    write(cells.rows_per_second, count(rates.reduce((sum, rate) => sum + rate, 0)));
    write(cells.waits, `${count(rates[0])} – ${count(rates[rates.length >> 1])} – ${count(rates[rates.length - 1])} rows/s each`);
    return [made.root, ...blamed.map(actor => actorRow(model, actor, now))];
}

/* How many seconds the bars show: those that are known, ten minutes at most; 0: too few for bars. */
function spanOf(model) {
    const age = model.live ? model.run.age_seconds : model.report.seconds;
    if (view.histories.size === 0 || (!model.live && age < 4))
        return 0;
    return [...(model.live ? [] : [20]), 60, 120, 300].find(span => age < 0.95 * span) || HISTORY_SECONDS;
}

function showActors(model) {
    const now = clock(), rows = [], folded = new Set();
    view.rows = view.rows || new Map();
    view.span = spanOf(model);
    write($("span"), view.span === 0 ? "the bars are the whole time of each actor" :
          `the bars are the last ${view.span < 60 ? `${view.span} seconds` : view.span === 60 ? "minute" : `${view.span / 60} minutes`}${model.live ? "" : " of the run"}, the newest at the right`);
    for (const actor of model.actors) {
        const group = model.groups.get(actor.group);
        if (group.actors.length > LARGE_GROUP && !view.unfolded.has(group.name)) {
            if (!folded.has(group.name))
                rows.push(...foldedRow(model, group, now));
            folded.add(group.name);
            continue;
        }
        rows.push(actorRow(model, actor, now));
        actor.devices.forEach((_, index) => rows.push(deviceRow(actor, index)));
        if (view.open === actor.name)
            rows.push(detailRow(actor));
    }
    const body = $("actors").tBodies[0];
    if (body.children.length !== rows.length || rows.some((one, index) => body.children[index] !== one))
        body.replaceChildren(...rows);
    show("actors-card", rows.length > 0);
}

/* --- one actor -------------------------------------------------------------------------------- */

function open(name) {
    const group = view.model.groups.get(groupOf(name));
    if (group && group.actors.length > LARGE_GROUP)
        view.unfolded.add(group.name);
    view.open = view.open === name ? null : name;
    showActors(view.model);
    if (view.open !== null)
        view.rows.get(name).root.scrollIntoView({block: "nearest", behavior: "smooth"});
}

function list(pairs) {
    return element("dl", "", ...pairs.filter(([, value]) => value !== null).flatMap(
        ([name, value]) => [element("dt", "", name), element("dd", "", value)]));
}

function operations(page) {
    const timed = page.operations.map(one => ({...one, each: one.blocks_timed > 0 ? one.seconds / one.blocks_timed : 0}));
    const all = timed.reduce((sum, one) => sum + one.each, 0);
    return timed.map(one => {
        const part = element("i", "");
        part.style.width = `${all > 0 ? 100 * one.each / all : 0}%`;
        return element("div", "operation", element("span", "", one.name), element("div", "bar", part), element("span", "number", brief(one.each)));
    });
}

function histogramsOf(actor) {
    const page = actor.page;
    const named = new Map();
    const add = (name, one) => one.count > 0 && named.set(name, [...(named.get(name) || []), one]);
    for (const one of page.timings || [])
        add(one.name, one);
    /* Devices that do the same are one figure. */
    const of = page.devices.length === 1 ? page.devices[0].name : plural(page.devices.length, "device");
    for (const device of page.devices)
        for (const one of device.timings || [])
            add(`${of} ${one.name}`, one);
    return [...named].map(([name, list]) => drawHistogram(merge(list), name.replace(/_/g, " ")));
}

function detail(actor) {
    const page = actor.page, account = page || actor.account;
    if (!account)
        return element("div", "faint", "it is on another machine; --via shows it");
    const boxes = [element("div", "", element("h3", "", actor.name), list([
        ["kind", actor.kind], ["host", actor.host], ["rows in", count(account.rows_in)], ["rows out", count(account.rows_out)],
        ["blocks in, out", `${count(account.blocks_in)}, ${count(account.blocks_out)}`],
        ["bytes in, out", `${bytes(account.bytes_in)}, ${bytes(account.bytes_out)}`], ["copied", bytes(account.bytes_copied)],
        ["lost, again, doubled", page ? `${count(page.connections_lost)}, ${count(page.tickets_again)}, ${count(page.tickets_doubled)}` : null],
        ["pages from disk", page ? count(page.disk_page_faults) : null],
        ["from", page && page.upstream.length ? page.upstream.join(", ") : null],
        ["to", page && page.downstream.length ? page.downstream.join(", ") : null],
        ["reads", page && page.reads ? `${page.reads.file}, record ${count(page.reads.record)}, byte ${count(page.reads.offset_bytes)}` : null],
        ["workers", page && page.tuning ? page.tuning : null],
        ...(page ? page.devices : []).filter(one => one.model || one.bytes_moved > 0).map(one => [one.name, [
            one.model, one.memory > 0 ? bytes(one.memory) : null, one.bytes_moved > 0 ? `${bytes(one.bytes_moved)} moved` : null,
        ].filter(fact => fact).join(", ")]),
    ])), element("div", "", element("h3", "", "time"), list(ACTIVITIES.map(
        (activity, index) => [activity.text, actor.shares[index] >= 0.0005 ? `${(100 * actor.shares[index]).toFixed(1)} %` : null])))];
    if (page && page.operations.length > 0)
        boxes.push(element("div", "", element("h3", "", "operations, per block"), ...operations(page)));
    if (page && page.options)
        boxes.push(element("div", "", element("h3", "", "options"), element("pre", "", page.options)));
    const threads = (page ? [page, ...page.devices] : []).filter(one => one.where);
    if (threads.length > 0)
        boxes.push(element("div", "", element("h3", "", "where its threads are now"), list(threads.map(one => [one.name, one.where]))));
    const histograms = page ? histogramsOf(actor) : [];
    return element("div", "", element("div", "detail-grid", ...boxes),
                   element("div", "histograms", ...histograms));
}

function detailRow(actor) {
    if (view.detail === undefined) {
        const cell = element("td", "");
        cell.colSpan = COLUMNS.length;
        view.detail = {root: element("tr", "detail", cell), cell};
    }
    view.detail.cell.replaceChildren(detail(actor));
    return view.detail.root;
}

/* --- times, edges, hosts, log ----------------------------------------------------------------- */

/* Histograms by name, of all instances of a group together. */
function timesOf(group) {
    const named = new Map();
    const add = (name, one) => one.count > 0 && named.set(name, [...(named.get(name) || []), one]);
    for (const actor of group.actors) {
        for (const one of (actor.page && actor.page.timings) || [])
            add(`${group.name} ${one.name}`, one);
        for (const device of (actor.page && actor.page.devices) || [])
            for (const one of device.timings || [])
                add(`${group.name} ${one.name}`, one);
    }
    return named;
}

function showTimes(model) {
    const figures = [];
    for (const group of [...model.groups.values()].sort((a, b) => a.part - b.part || a.rank - b.rank))
        for (const [name, histograms] of timesOf(group))
            figures.push(drawHistogram(merge(histograms), name.replace(/_/g, " ")));
    $("times").replaceChildren(...figures);
    show("times-card", figures.length > 0);
}

function tableRow(cells) {
    return element("tr", "", ...cells.map(([text, number]) => element("td", number ? "number" : "", text)));
}

/* One edge, or those between two large groups added up. */
function edgeRow(name, edges) {
    const sum = (list, key) => list.reduce((total, one) => typeof one[key] === "number" ? (total || 0) + one[key] : total, null);
    const ends = edges.flatMap(edge => [edge.sent, edge.received].filter(end => end !== null));
    const last = edges.map(edge => edge.received || edge.sent).filter(end => end !== null);
    const trips = ends.map(end => end.round_trip_seconds).filter(trip => trip !== null);
    const volume = sum(edges, "bytes_per_second"), lost = sum(ends, "connections_lost");
    return tableRow([
        [name], [[...new Set(edges.map(edge => edge.transport))].join(", ")], [count(sum(edges, "rows_per_second")), true],
        [volume === null ? "–" : (volume / 1e6).toFixed(1), true], [count(sum(last, "rows")), true],
        [count(sum(edges, "credit_free_blocks")), true], [lost > 0 ? count(lost) : "–", true],
        [trips.length > 0 ? brief(Math.max(...trips)) : "–", true]]);
}

function showEdges(model) {
    const bundles = new Map();
    for (const edge of model.edges) {
        const key = `${groupOf(edge.from)} → ${groupOf(edge.to)}`;
        if (!bundles.has(key))
            bundles.set(key, []);
        bundles.get(key).push(edge);
    }
    const rows = [...bundles].flatMap(([name, edges]) => edges.length > LARGE_GROUP ? [edgeRow(`${name}, ${edges.length} edges`, edges)] :
        edges.map(edge => edgeRow(`${edge.from} → ${edge.to}`, [edge])));
    $("edges").tBodies[0].replaceChildren(...rows);
    show("edges-card", rows.length > 0);
}

function memory(process, limit) {
    const used = process.memory.anonymous_bytes, most = process.memory.most_bytes, whole_ = limit || most;
    const parts = [];
    if (used !== null && whole_) {
        const part = element("i", "");
        part.style.width = `${Math.min(100, 100 * used / whole_)}%`;
        parts.push(element("div", `memory${limit && used > limit ? " over" : ""}`, part));
    }
    const words = [used !== null ? `${bytes(used)} used` : null, most !== null ? `at most ${bytes(most)} expected` : null,
                   limit ? `${bytes(limit)} allowed` : null].filter(word => word !== null);
    parts.push(element("span", "faint", words.join(" · ")));
    return parts;
}

function host(model, one) {
    const process = model.processes.find(other => other.host === one.name && other.state !== "killed") ||
        model.processes.find(other => other.host === one.name);
    const state = process && process.state !== "running" && model.live ? process.state : one.presence || "not known";
    const tone = !model.live || state === "up" ? "good" : state === "not known" || state === "expected" ? "warn" : "bad";
    const facts = [one.address, one.pid !== null ? `pid ${one.pid}` : null,
                   one.restarts > 0 ? `restarted ${one.restarts} of ${one.restarts_max} times` : null,
                   one.started_by !== null ? `started by ${one.started_by}` : null].filter(fact => fact);
    return element("div", "", element("div", "host-head", element("b", "", one.name),
                                      model.live ? element("span", `state ${tone}`, state) : null,
                                      element("span", "faint", facts.join(" · "))),
                   ...(process ? memory(process, one.memory_bytes) : []));
}

/* Of the machine on which `tundish watch` runs, with all its programs. */
function machineText(machine) {
    const texts = [];
    if (machine.memory_bytes !== null)
        texts.push(`${bytes(machine.memory_used_bytes)} of ${bytes(machine.memory_bytes)} used`);
    if (machine.disks_read_bytes_per_second !== null)
        texts.push(`disks ${megabytes(machine.disks_read_bytes_per_second)} in, ${megabytes(machine.disks_written_bytes_per_second)} out`);
    if (machine.disk_wait_share !== null)
        texts.push(`processors wait for them ${percent(machine.disk_wait_share)}`);
    return texts.join(" · ");
}

function showHosts(model) {
    const hosts = model.run.hosts.slice(0, 64).map(one => host(model, one));
    if (model.machine)
        hosts.push(element("p", "faint", `this machine: ${machineText(model.machine)}`));
    $("hosts").replaceChildren(...hosts);
    show("hosts-card", hosts.length > 0);
}

/* Lines of the log that this page has had, the oldest first: the run itself keeps fewer. */
function keepLog(model) {
    const now = clock();
    for (const line of model.run.log.filter(line => !(view.logNumber >= line.number))) {
        view.log.push({...line, at: now - line.age_seconds});
        view.logNumber = line.number;
    }
    view.log.splice(0, view.log.length - LOG_LINES);
    return view.log.map(line => ({...line, age_seconds: model.live ? Math.max(0, now - line.at) : line.age_seconds}));
}

function showLog(model) {
    const all = [...keepLog(model), ...model.unread.map(text => ({text, level: "warning", age_seconds: null}))];
    const wanted = $("log-search").value.trim().toLowerCase();
    const lines = all.filter(line => `${line.level} ${line.text}`.toLowerCase().includes(wanted));
    write($("log-found"), wanted === "" ? "" : `${lines.length} of ${plural(all.length, "line")}`);
    $("log").replaceChildren(...lines.reverse().map(line => element(
        "li", line.level, element("span", "faint", line.age_seconds === null ? "" : model.live ? `${time(line.age_seconds)} ago` :
            `after ${time(Math.max(0, model.run.age_seconds - line.age_seconds))}`),
        element("span", "level", line.level), element("span", "", line.text))));
    show("log-card", all.length > 0);
}

function showAccount(model) {
    const report = model.report;
    if (!show("report-card", report !== null))
        return;
    const rows = report.rows;
    const pairs = [["rows read", count(rows.read)], ["rows fed", count(rows.fed)], ["filtered", count(rows.filtered)],
                   ["bad", count(rows.bad)], ["dropped", count(rows.dropped)], ["stream digest", report.stream_digest],
                   ["model digest", report.model_digest], ["seed", String(report.seed)],
                   ...Object.entries(report.chains).map(([name, chain]) => [`rows fed to ${name}`, count(chain.rows.fed)]),
                   ...Object.entries(report.labels ?? {}).map(([name, labels]) => [`labels of ${name}`,
                       labels.map((label, number) => `${number} ${label}`).join(", ")]),
                   ...report.bad.map(reason => [`bad rows (${count(reason.count)})`, `${reason.found_by}: ${reason.first}`])];
    $("account").replaceChildren(...pairs.filter(([, value]) => value !== null).map(
        ([name, value]) => element("div", "", element("dt", "", name), element("dd", "", value))));
}

/* --- the whole -------------------------------------------------------------------------------- */

function showModel(model) {
    view.model = model;
    showHeader(model);
    showTiles(model);
    showVerdict(model);
    showGraph(model);
    showActors(model);
    showTimes(model);
    showEdges(model);
    showHosts(model);
    showAccount(model);
    showLog(model);
    const feeder = model.actors.find(actor => actor.kind === "feeder" && (!model.live || !model.run.chain || actor.group === model.run.chain));
    if (feeder && view.span > 0)
        drawRate(view.tiles.get("rows_per_second").chart, view.histories.get(feeder.name), clock(), view.span);
}

/* Another run has begun: nothing of the one before is shown. */
function begin(session) {
    view.session = session;
    view.histories = new Map();
    view.log = [];
    view.logNumber = 0;
    view.tiles = view.rows = undefined;
    view.open = null;
    view.graphs.forEach(graph => graph.root.remove());
    view.graphs = new Map();
    $("tiles").replaceChildren();
}

function takeLook(look) {
    const model = modelOfLook(look);
    if (model === null) {
        write($("state"), "no run");
        write($("sentence"), `${look.absent}; waiting for one`);
        $("verdict").className = "card verdict warn";
        show("verdict", true);
        return;
    }
    if (view.session !== model.run.session) {
        begin(model.run.session);
        askHistory();
    }
    if (model.ended === null)
        for (const actor of model.actors.filter(one => one.here)) {
            if (!view.histories.has(actor.name))
                view.histories.set(actor.name, new History());
            view.histories.get(actor.name).cover(clock(), Math.min(model.window.seconds, HISTORY_SECONDS),
                                                 actor.rows_per_second, actor.shares);
        }
    showModel(model);
}

/* The ten minutes before this page was opened. */
function askHistory() {
    const session = view.session;
    fetch(`history${location.search}`).then(answer => answer.json()).then(told => {
        if (told.session !== session || view.session !== session)
            return;
        addHistories(view.histories, told.actors, clock());
        showModel(view.model);
    }).catch(() => {});
}

function follow() {
    const live = new EventSource(`live${location.search}`);
    live.onmessage = event => {
        takeLook(JSON.parse(event.data));
        write($("link"), "live");
        $("link").className = "link good";
    };
    live.onerror = () => {
        write($("link"), "not connected");
        $("link").className = "link bad";
        view.session = null; /* what is missed now is in the history */
    };
}

function chooseTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    $("theme").onclick = () => {
        const root = document.documentElement;
        const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
        root.dataset.theme = isDark ? "light" : "dark";
        readPalette();
        if (view.model !== null)
            showModel(view.model);
    };
    dark.addEventListener("change", readPalette);
    readPalette();
}

function start() {
    chooseTheme();
    showLegend();
    $("actors").tHead.append(element("tr", "", ...COLUMNS.map(
        ([name, text]) => element("th", NUMBERS.has(name) ? "number" : "", text))));
    $("edges").tHead.append(element("tr", "", ...["edge", "by", "rows/s", "MB/s", "rows", "credit", "lost", "round trip"].map(
        (text, index) => element("th", index > 1 ? "number" : "", text))));
    $("log-search").oninput = () => view.model !== null && showLog(view.model);
    new ResizeObserver(() => view.model !== null && showGraph(view.model)).observe($("graph"));
    const text = $("report").textContent.trim();
    if (text === "")
        return follow();
    const report = JSON.parse(text);
    write($("link"), "report");
    if (report.history)
        addHistories(view.histories, report.history.actors, clock());
    showModel(modelOfReport(report));
}

start();
