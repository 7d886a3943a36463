"use strict";
/* text.js - elements and numbers.  Texts of a run are shown by textContent only, never as HTML. */

function element(tag, className, ...parts) {
    const made = document.createElement(tag);
    if (className)
        made.className = className;
    made.append(...parts.filter(part => part !== null));
    return made;
}

function drawn(tag, attributes, ...parts) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes))
        made.setAttribute(name, value);
    made.append(...parts);
    return made;
}

/* Changes a text only if it differs, so that a selection in it stays. */
function write(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});

function count(value) {
    return value === null || value === undefined ? "–" : whole.format(value);
}

function short(value) {
    const units = ["", " k", " M", " G", " T"];
    let unit = 0;
    while (value >= 999.5 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return (value >= 100 || unit === 0 ? value.toFixed(0) : value.toPrecision(3)) + units[unit];
}

function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    if (value === null || value === undefined)
        return "–";
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit++;
    }
    return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

function megabytes(perSecond) {
    return perSecond >= 1e9 ? `${(perSecond / 1e9).toFixed(2)} GB/s` : `${(perSecond / 1e6).toFixed(1)} MB/s`;
}

function percent(share) {
    return `${(100 * share).toFixed(0)} %`;
}

/* An age or a long time: "3.2 s", "1:05:09". */
function time(seconds) {
    if (seconds === null || seconds === undefined)
        return "–";
    if (seconds < 100)
        return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
    if (parts[0] === 0)
        parts.shift();
    return parts.map((part, index) => index === 0 ? String(part) : String(part).padStart(2, "0")).join(":");
}

/* A short time: "3.2 µs". */
function brief(seconds) {
    for (const [unit, scale] of [["µs", 1e6], ["ms", 1e3], ["s", 1]])
        if (seconds * scale < 999.5 || unit === "s")
            return `${(seconds * scale).toPrecision(3)} ${unit}`;
}

function plural(number, noun) {
    return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
