/* model.js - what the page shows, made of a look of /live or of a report. */

/* How an actor spends its time, in the order of the shares. */
const ACTIVITIES = [
    {name: "cpu", letter: "R", text: "computing", group: "busy"},
    {name: "wait_in", letter: "i", text: "input is missing", group: "idle"},
    {name: "wait_credit", letter: "c", text: "no room downstream", group: "blocked"},
    {name: "wait_order", letter: "o", text: "waits for the order", group: "blocked"},
    {name: "wait_step", letter: "s", text: "the step runs", group: "blocked"},
    {name: "wait_reduce", letter: "n", text: "waits for other replicas", group: "blocked"},
    {name: "wait_io", letter: "d", text: "disk or sleep", group: "busy"},
    {name: "run_queue", letter: "q", text: "no processor is free", group: "ready"},
    {name: "other", letter: ".", text: "other", group: "plain"},
];
/* The same for a device. */
const DEVICE_ACTIVITIES = [
    {name: "idle", text: "idle", like: "other"},
    {name: "step", text: "step", like: "wait_step"},
    {name: "reduce", text: "reduce", like: "wait_reduce"},
    {name: "apply", text: "apply", like: "cpu"},
    {name: "keep", text: "saves the model", like: "wait_io"},
];

function groupOf(name) {
    return name.split(/[.@]/)[0];
}

function sharesOf(seconds) {
    const total = Object.values(seconds).reduce((sum, part) => sum + part, 0);
    return total > 0 ? Object.values(seconds).map(part => part / total) : Object.values(seconds).map(() => 0);
}

/* The pages of the actors by name; those of a process that lives are preferred. */
function pagesOf(look) {
    const pages = new Map();
    for (const process of look.processes)
        for (const actor of process.actors)
            if (process.state !== "killed" || !pages.has(actor.name))
                pages.set(actor.name, {...actor, host: process.host, process});
    return pages;
}

function edgesOf(run, window_) {
    const seen = new Map((window_ ? window_.edges : []).map(edge => [`${edge.from}\n${edge.to}`, edge]));
    return run.edges.map(edge => ({...edge, ...seen.get(`${edge.from}\n${edge.to}`)}));
}

/* The rank of each actor: the longest way from a start of the graph.  A damaged page may have a cycle. */
function rank(groups, edges) {
    for (let turn = 0, changed = true; changed && turn < 32; turn++) {
        changed = false;
        for (const edge of edges) {
            const from = groups.get(groupOf(edge.from)), to = groups.get(groupOf(edge.to));
            if (from && to && from !== to && to.rank <= from.rank) {
                to.rank = from.rank + 1;
                changed = true;
            }
        }
    }
}

/* Gives all actors that edges connect the same number. */
function connect(groups, edges) {
    let number = 0;
    for (const group of groups.values())
        group.part = number++;
    for (let changed = true; changed;) {
        changed = false;
        for (const edge of edges) {
            const from = groups.get(groupOf(edge.from)), to = groups.get(groupOf(edge.to));
            if (from && to && from.part !== to.part) {
                from.part = to.part = Math.min(from.part, to.part);
                changed = true;
            }
        }
    }
}

/* The instances of an actor, as one box of the graph. */
function groupsOf(actors, edges) {
    const groups = new Map();
    for (const actor of actors) {
        if (!groups.has(actor.group))
            groups.set(actor.group, {name: actor.group, kind: actor.kind, actors: [], rank: 0, part: 0});
        groups.get(actor.group).actors.push(actor);
    }
    rank(groups, edges);
    connect(groups, edges);
    for (const group of groups.values()) {
        const here = group.actors.filter(actor => actor.here);
        group.shares = ACTIVITIES.map((_, index) =>
            here.reduce((sum, actor) => sum + actor.shares[index], 0) / Math.max(here.length, 1));
    }
    return groups;
}

function byGraph(groups) {
    return (a, b) => {
        const left = groups.get(a.group), right = groups.get(b.group);
        return left.part - right.part || left.rank - right.rank || left.name.localeCompare(right.name) ||
            a.name.localeCompare(b.name, "en", {numeric: true});
    };
}

function finish(model) {
    model.groups = groupsOf(model.actors, model.edges);
    model.actors.sort(byGraph(model.groups));
    return model;
}

/* A look of /live; null without a run. */
function modelOfLook(look) {
    const run = look.runs[0];
    if (!run)
        return null;
    const pages = pagesOf(look), window_ = look.window;
    const actors = window_.actors.map(seen => ({
        ...seen, group: groupOf(seen.name), page: pages.get(seen.name) || null,
    }));
    return finish({
        live: true, run, actors, edges: edgesOf(run, window_), window: window_, verdict: look.verdict,
        ended: look.ended, processes: look.processes, unread: look.unread, machine: look.machine, report: null,
    });
}

/* A report of `tundish run --report`. */
function modelOfReport(report) {
    const look = report.look, pages = look ? pagesOf(look) : new Map();
    const run = look && look.runs[0] ? look.runs[0] : {run: "run", edges: [], hosts: [], log: [], metrics: {}};
    const actors = report.actors.map(actor => {
        const page = pages.get(actor.name) || null;
        const rate = report.seconds > 0 ? 1 / report.seconds : 0;
        return {
            name: actor.name, group: groupOf(actor.name), kind: actor.kind, host: actor.host, letter: ".",
            here: true, shares: sharesOf(actor.times), rows_per_second: actor.rows_out * rate,
            bytes_per_second: actor.bytes_out * rate, page, account: actor,
            devices: page ? page.devices.map(one => ({name: one.name, shares: sharesOf(one.seconds)})) : [],
        };
    });
    const edges = run.edges.map(edge => {
        const end = edge.received || edge.sent, rate = end && report.seconds > 0 ? 1 / report.seconds : null;
        return {...edge, rows_per_second: rate && end.rows * rate, bytes_per_second: rate && end.bytes * rate,
                credit_free_blocks: null};
    });
    return finish({
        live: false, run, actors, edges, window: null, verdict: null, ended: "done",
        processes: look ? look.processes : [], unread: [], report,
    });
}

/* What limits an actor, for its colour: its part in what is wrong, or the group of its largest share. */
function colourOf(shares, part) {
    if (part !== "")
        return part;
    const largest = shares.indexOf(Math.max(...shares));
    return shares[largest] > 0 ? ACTIVITIES[largest].group : "plain";
}

/* The part of an actor in what is wrong: "fault" if the verdict blames it, because a fault names it or all
 * others wait for it; "victim" if it waits for such an actor, or suffers from what others do; otherwise "". */
function partOf(model, name) {
    const verdict = model.verdict;
    if (verdict === null)
        return "";
    const named = verdict.faults.filter(fault => fault.actor === name);
    if ((!verdict.flows && verdict.actor === name) || named.some(fault => !fault.suffered))
        return "fault";
    return named.length > 0 || (!verdict.flows && verdict.chain.some(hop => hop.actor === name)) ? "victim" : "";
}

/* The same of several: the worst of them. */
function partOfAll(model, actors) {
    const parts = actors.map(actor => partOf(model, actor.name));
    return ["fault", "victim"].find(part => parts.includes(part)) || "";
}

/* Histograms of one name, added up; null if they are empty. */
function merge(histograms) {
    const classes = new Map();
    let most = 0, all = 0, sum = 0;
    for (const one of histograms) {
        for (const part of one.classes)
            classes.set(part.below_seconds, (classes.get(part.below_seconds) || 0) + part.count);
        most = Math.max(most, one.max_seconds);
        all += one.count;
        sum += one.sum_seconds;
    }
    const sorted = [...classes].sort((a, b) => a[0] - b[0]);
    const quantile = share => {
        let below = 0;
        for (const [end, number] of sorted)
            if ((below += number) >= share * all)
                return Math.min(end, most);
        return most;
    };
    return all === 0 ? null : {
        classes: sorted, count: all, mean: sum / all, most, p50: quantile(0.5), p90: quantile(0.9),
        p99: quantile(0.99), p999: quantile(0.999), of: histograms.length,
        medians: histograms.map(one => one.p50_seconds).sort((a, b) => a - b),
    };
}
