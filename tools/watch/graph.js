/* graph.js - the graph of a run: boxes in columns by rank, connected by edges that flow. */

const BOX = {width: 172, height: 70, gapX: 104, leastGapX: 76, gapY: 34, side: 16, below: 58};
const SMALLEST = 11 / 11.5; /* the smallest letters have 11.5 px in a graph that is not scaled */

/* Where each box is: ranks from left to right, closer to each other if they would not fit into `room` pixels, or
 * upright from top to bottom. */
function place(groups, upright, room) {
    const ranks = new Map(), places = new Map();
    let most = 0;
    for (const group of [...groups].sort((a, b) => a.rank - b.rank || a.name.localeCompare(b.name))) {
        const number = ranks.get(group.rank) || 0;
        ranks.set(group.rank, number + 1);
        places.set(group.name, {rank: group.rank, number});
        most = Math.max(most, number + 1);
    }
    const across = upright ? BOX.width + BOX.side : BOX.height + BOX.gapY;
    const last = Math.max(0, ...ranks.keys());
    const gap = Math.max(BOX.leastGapX, Math.min(BOX.gapX, (room - 2 - BOX.width) / last - BOX.width));
    const along = upright ? BOX.height + BOX.below : BOX.width + gap;
    for (const spot of places.values()) {
        const first = spot.rank * along, second = (spot.number + (most - ranks.get(spot.rank)) / 2) * across;
        spot.x = 1 + (upright ? second : first);
        spot.y = 8 + (upright ? first : second);
    }
    return {places, width: (upright ? most * across - BOX.side : last * along + BOX.width) + 2,
            height: (upright ? last * along + BOX.height : most * across - BOX.gapY) + 18};
}

/* The edges between two groups as one. */
function bundle(edges) {
    const bundles = new Map();
    for (const edge of edges) {
        const key = `${groupOf(edge.from)}\n${groupOf(edge.to)}`;
        if (!bundles.has(key))
            bundles.set(key, {from: groupOf(edge.from), to: groupOf(edge.to), transports: new Set(),
                              rows: 0, bytes: 0, known: false, count: 0});
        const one = bundles.get(key);
        one.count++;
        one.transports.add(edge.transport);
        one.known = one.known || typeof edge.rows_per_second === "number";
        one.rows += edge.rows_per_second || 0;
        one.bytes += edge.bytes_per_second || 0;
    }
    return bundles;
}

function pathOf(from, to, upright) {
    if (upright) {
        const x = from.x + BOX.width / 2, y = from.y + BOX.height, u = to.x + BOX.width / 2, v = to.y;
        const bend = Math.max((v - y) / 2, 20);
        return `M${x},${y} C${x},${y + bend} ${u},${v - bend} ${u},${v}`;
    }
    const x = from.x + BOX.width, y = from.y + BOX.height / 2, u = to.x, v = to.y + BOX.height / 2;
    const bend = Math.max((u - x) / 2, 30);
    return `M${x},${y} C${x + bend},${y} ${u - bend},${v} ${u},${v}`;
}

class Graph {
    constructor(onOpen) {
        this.onOpen = onOpen;
        this.root = drawn("svg", {class: "graph", role: "img", "aria-label": "the graph of the run"});
        this.key = "";
    }

    /* Draws boxes and edges anew if the graph has changed; otherwise only their contents. */
    show(model, groups, upright, room) {
        const bundles = bundle(model.edges.filter(edge => groups.has(groupOf(edge.from))));
        const key = JSON.stringify([upright, room, [...groups.values()].map(one => [one.name, one.rank, one.actors.length]),
                                    [...bundles.keys()]]);
        if (key !== this.key)
            this.build(groups, bundles, upright, room);
        this.key = key;
        for (const [name, parts] of this.boxes)
            this.fill(parts, groups.get(name), model);
        for (const [name, parts] of this.lines)
            this.flow(parts, bundles.get(name), model);
    }

    build(groups, bundles, upright, room) {
        const {places, width, height} = place(groups.values(), upright, room);
        this.root.classList.toggle("upright", upright);
        this.root.replaceChildren();
        this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.width = width;
        this.boxes = new Map();
        this.lines = new Map();
        for (const [key, one] of bundles)
            if (places.has(one.from) && places.has(one.to))
                this.lines.set(key, this.line(places.get(one.from), places.get(one.to), upright));
        for (const group of groups.values())
            this.boxes.set(group.name, this.box(group, places.get(group.name)));
    }

    line(from, to, upright) {
        const path = pathOf(from, to, upright);
        const x = upright ? (from.x + to.x + BOX.width) / 2 + 10 : (from.x + BOX.width + to.x) / 2;
        const y = upright ? (from.y + BOX.height + to.y) / 2 - 1 : (from.y + to.y + BOX.height) / 2;
        const bed = drawn("path", {class: "edge-bed", d: path});
        const stream = drawn("path", {class: "edge-flow", d: path});
        const upper = drawn("text", {class: "edge-text", x, y: y - 9});
        const lower = drawn("text", {class: "edge-text faint", x, y: y + 19});
        this.root.append(bed, stream, upper, lower);
        const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
        const motion = still ? null : stream.animate([{strokeDashoffset: 18}, {strokeDashoffset: 0}],
                                                     {duration: 1000, iterations: Infinity});
        return {bed, stream, upper, lower, motion};
    }

    flow(parts, one) {
        const flows = one.rows > 0;
        parts.stream.classList.toggle("still", !flows);
        parts.bed.style.strokeWidth = String(flows ? Math.min(3 + Math.log10(1 + one.bytes / 1e5) * 2, 11) : 3);
        if (parts.motion !== null)
            parts.motion.playbackRate = flows ? Math.min(0.4 + Math.log10(1 + one.rows / 100) / 2, 3) : 0;
        write(parts.upper, one.known && one.bytes > 0 ? megabytes(one.bytes) : "");
        write(parts.lower, [...one.transports].join(", "));
    }

    box(group, spot) {
        const more = group.actors.length > 1;
        const box = drawn("g", {class: "box", tabindex: 0, transform: `translate(${spot.x},${spot.y})`});
        if (more)
            box.append(drawn("rect", {class: "box-more", x: 5, y: -5, width: BOX.width - 5, height: BOX.height, rx: 9}));
        box.append(drawn("rect", {class: "box-face", width: BOX.width, height: BOX.height, rx: 9}),
                   drawn("rect", {class: "box-mark", width: 5, height: BOX.height, rx: 2.5}));
        const name = drawn("text", {class: "box-name", x: 16, y: 23});
        const rate = drawn("text", {class: "box-rate", x: BOX.width - 12, y: 42});
        const parts = drawn("text", {class: "box-parts", x: 16, y: 42});
        const title = drawn("title", {});
        const bar = ACTIVITIES.map(activity => drawn("rect", {class: `part ${activity.name}`, y: 52, height: 8}));
        box.append(name, rate, parts, ...bar, title);
        box.addEventListener("click", () => this.onOpen(group.actors[0].name));
        this.root.append(box);
        const most = more ? 13 : 17, cut = group.name.length > most ? `${group.name.slice(0, most - 1)}…` : group.name;
        write(name, more ? `${cut} ×${group.actors.length}` : cut);
        return {box, rate, parts, bar, title};
    }

    fill(parts, group, model) {
        const part = partOfAll(model, group.actors);
        const limit = model.verdict !== null && model.verdict.limit !== null &&
            groupOf(model.verdict.limit.actor || "") === group.name;
        parts.box.setAttribute("class", `box is-${colourOf(group.shares, part)}${limit ? " limits" : ""}`);
        const largest = group.shares.map((share, index) => [share, index]).filter(([share]) => share >= 0.05)
            .sort((a, b) => b[0] - a[0]).slice(0, 2);
        write(parts.parts, largest.map(([share, index]) => `${ACTIVITIES[index].letter} ${percent(share)}`).join("  "));
        const rate = group.actors.reduce((sum, actor) => sum + actor.rows_per_second, 0);
        write(parts.rate, rate > 0 ? `${short(rate)}/s` : "");
        let x = 16;
        const room = BOX.width - 28;
        group.shares.forEach((share, index) => {
            parts.bar[index].setAttribute("x", x.toFixed(2));
            parts.bar[index].setAttribute("width", Math.max(0, share * room).toFixed(2));
            x += share * room;
        });
        write(parts.title, `${group.name}: ${group.kind} on ${[...new Set(group.actors.map(one => one.host))].join(", ")}\n` +
            largest.map(([share, index]) => `${percent(share)} ${ACTIVITIES[index].text}`).join("\n"));
    }
}
