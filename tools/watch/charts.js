/* charts.js - the time of an actor as a strip, the rate of the run, and histograms. */

const HISTORY_SECONDS = 600, LATE_SECONDS = 3;

/* The strips are drawn with the colours of the style. */
let palette = [];

function readPalette() {
    const probe = element("i", "");
    document.body.append(probe);
    palette = ACTIVITIES.map(activity => {
        probe.style.color = `var(--${activity.name.replace("_", "-")})`;
        return (getComputedStyle(probe).color.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map(Number);
    });
    probe.remove();
}

/* The last ten minutes of an actor, a second each. */
class History {
    constructor() {
        this.seconds = new Map(); /* second: [weight, rows per second, shares...] */
        this.end = -Infinity;     /* of the last look */
    }

    add(at, rows, shares, weight) {
        const second = Math.floor(at), old = this.seconds.get(second);
        const parts = [rows, ...shares];
        if (old === undefined)
            this.seconds.set(second, [weight, ...parts]);
        else
            this.seconds.set(second, [old[0] + weight, ...parts.map(
                (part, index) => (old[index + 1] * old[0] + part * weight) / (old[0] + weight))]);
    }

    /* A look that covers the `span` seconds before `now`.  It may arrive late: no time is left out after the look
     * before it. */
    cover(now, span, rows, shares) {
        const from = now - this.end < span + LATE_SECONDS ? Math.min(this.end, now - span) : now - span;
        this.end = now;
        if (now - from < 1)
            this.add(now, rows, shares, now - from);
        for (let at = now; at > from && now - from >= 1; at--)
            this.add(at, rows, shares, Math.min(1, at - from));
        for (const second of this.seconds.keys()) {
            if (second >= now - HISTORY_SECONDS)
                break;
            this.seconds.delete(second);
        }
    }
}

function addHistories(histories, list, now) {
    for (const actor of list) {
        const history = new History();
        actor.ages_seconds.forEach((age, index) => {
            const shares = ACTIVITIES.map((_, part) =>
                parseInt(actor.shares.substr(18 * index + 2 * part, 2), 16) / 255);
            history.add(now - age, actor.rows_per_second[index], shares, 1);
        });
        history.end = now - Math.min(...actor.ages_seconds);
        histories.set(actor.name, history);
    }
}

/* One column per second, the parts of the time one above the other. */
function drawStrip(canvas, history, now, span) {
    const width = span, height = 24, first = Math.floor(now) - span;
    if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
    }
    const context = canvas.getContext("2d"), image = context.createImageData(width, height);
    for (let x = 0; x < width && history; x++) {
        const second = history.seconds.get(first + x);
        if (second === undefined)
            continue;
        let y = height, sum = 0;
        for (let part = 0; part < ACTIVITIES.length; part++) {
            sum += second[part + 2];
            const end = part === ACTIVITIES.length - 1 ? 0 : Math.max(0, Math.round(height * (1 - sum)));
            for (; y > end; y--) {
                const at = 4 * ((y - 1) * width + x);
                image.data.set(palette[part], at);
                image.data[at + 3] = 255;
            }
        }
    }
    context.putImageData(image, 0, 0);
}

/* The rate of the run as an area. */
function drawRate(root, history, now, span) {
    const width = 300, height = 64, first = Math.floor(now) - span, points = [];
    for (let x = 0; x <= span && history; x++) {
        const second = history.seconds.get(first + x);
        if (second !== undefined)
            points.push([x / span * width, second[1]]);
    }
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.replaceChildren();
    if (points.length < 2)
        return;
    const most = Math.max(...points.map(point => point[1]), 1e-9);
    const line = points.map(([x, value]) => `${x.toFixed(1)},${(height - 2 - value / most * (height - 8)).toFixed(1)}`).join(" L");
    const left = points[0][0].toFixed(1), right = points[points.length - 1][0].toFixed(1);
    root.append(drawn("path", {class: "rate-area", d: `M${left},${height} L${line} L${right},${height} Z`}),
                drawn("path", {class: "rate-line", d: `M${line}`}));
}

/* A histogram over a logarithmic axis, with its median and its 99th percentile. */
function drawHistogram(merged, label) {
    const width = 260, height = 92, base = 70, label_width = 44, octave = end => Math.log2(end / 1.024e-6);
    /* A class reaches from the end of the one before it: an eighth of an octave, and all below 1 us. */
    const octaves = new Map();
    for (const [end, number] of merged.classes) {
        const key = Math.max(0, Math.ceil(octave(end) - 1e-6));
        octaves.set(key, (octaves.get(key) || 0) + number);
    }
    const keys = [...octaves.keys()], low = Math.max(0, Math.min(...keys) - 1);
    const high = Math.max(Math.max(...keys) + 1, low + 8), most = Math.max(...octaves.values());
    const x = seconds => 6 + (Math.max(octave(Math.max(seconds, 1e-9)), low - 1) - low + 1) / (high - low + 1) * (width - 12);
    const root = drawn("svg", {class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img"});
    const slot = (width - 12) / (high - low + 1);
    for (const [key, number] of octaves) {
        const tall = Math.max(1.5, (base - 8) * number / most);
        root.append(drawn("rect", {class: "column", x: 6 + (key - low) * slot + 0.75, y: base - tall,
                                   width: Math.max(slot - 1.5, 1), height: tall, rx: 1.5},
                          drawn("title", {}, `${plural(number, "time")} below ${brief(1.024e-6 * 2 ** key)}`)));
    }
    root.append(drawn("path", {class: "axis", d: `M6,${base + 0.5} H${width - 6}`}));
    for (const [name, value] of [["p50", merged.p50], ["p99", merged.p99]])
        root.append(drawn("path", {class: `quantile ${name}`, d: `M${x(value).toFixed(1)},4 V${base}`}));
    let labelled = -label_width / 2; /* where the last label is */
    for (const [text, value] of [["1 µs", 1e-6], ["10 µs", 1e-5], ["100 µs", 1e-4], ["1 ms", 1e-3],
                                 ["10 ms", 0.01], ["100 ms", 0.1], ["1 s", 1], ["10 s", 10], ["100 s", 100]]) {
        const at = x(value);
        if (at > 12 && at < width - 12 && octave(value) > low - 1)
            root.append(drawn("path", {class: "axis", d: `M${at.toFixed(1)},${base} v4`}));
        if (at - labelled >= label_width && at > 12 && at < width - label_width / 2 && octave(value) > low - 1) {
            root.append(drawn("text", {class: "tick", x: at.toFixed(1), y: base + 15}, text));
            labelled = at;
        }
    }
    const figures = element("div", "figures", `p50 ${brief(merged.p50)} · p99 ${brief(merged.p99)} · max ${brief(merged.most)}`);
    if (merged.of > 1)
        figures.append(element("div", "", `p50 of ${merged.of}: min ${brief(merged.medians[0])} · median ` +
            `${brief(merged.medians[merged.of >> 1])} · max ${brief(merged.medians[merged.of - 1])}`));
    return element("figure", "", element("figcaption", "", element("b", "", label), element("span", "faint", `${short(merged.count)} times`)),
                   root, figures);
}
