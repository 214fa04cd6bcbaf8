/* The page of `grnf map`: points on a canvas, and graphs drawn from packed coordinates. It sends no requests, and
   text of the data is inserted as textContent only. Sections start with four dashes. */
"use strict";
(async () => {
const $ = id => document.getElementById(id);
const meta = JSON.parse($("meta").textContent);
const n = meta.n, stage = $("stage"), pointsCanvas = $("points"), over = $("over"), tip = $("tip");

/* ---- data: parts are gzip + base64, unpacked on first use ---- */

const parts = new Map();
function part(name) {
  if (!parts.has(name)) parts.set(name, unpack(name));
  return parts.get(name);
}
async function unpack(name) {
  const text = atob($("part-" + name).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
const json = async name => JSON.parse(new TextDecoder().decode(await part(name)));

/* Numbers of several bytes stand as planes: all first bytes, all second bytes, ... */
class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  u8(count) { this.at += count; return this.bytes.subarray(this.at - count, this.at); }
  planes(count, width, make) {
    const from = this.u8(count * width), to = new Uint8Array(count * width);
    for (let b = 0; b < width; b++) for (let i = 0; i < count; i++) to[i * width + b] = from[b * count + i];
    return new make(to.buffer);
  }
  u16(count) { return this.planes(count, 2, Uint16Array); }
  u32(count) { return this.planes(count, 4, Uint32Array); }
  f32(count) { return this.planes(count, 4, Float32Array); }
}
const starts = lengths => { const s = [0]; for (const l of lengths) s.push(s[s.length - 1] + l); return s; };

const blocks = new Map();  // the last few blocks of graphs, unpacked
async function block(kind, number, read) {
  const key = kind + number;
  if (!blocks.has(key)) {
    blocks.set(key, part(key).then(bytes => read(new Reader(bytes), Math.min(meta.block, n - number * meta.block))));
    if (blocks.size > 64) { const old = blocks.keys().next().value; blocks.delete(old); parts.delete(old); }
  }
  return blocks.get(key);
}
async function graph(i) {  // {x, y, kind, from, to, value, molecule, directed, note}
  const b = await block("g", Math.floor(i / meta.block), (r, count) => {
    const flags = r.u8(count), nodes = starts(r.u16(count)), edges = starts(r.u16(count));
    const N = nodes[count], E = edges[count];
    return {flags, nodes, edges, x: r.u16(N), y: r.u16(N), kind: r.u8(N), from: r.u16(E), to: r.u16(E), value: r.u8(E)};
  });
  const g = i % meta.block, [p, q] = [b.nodes[g], b.nodes[g + 1]], [s, t] = [b.edges[g], b.edges[g + 1]];
  const f = b.flags[g];
  return {x: b.x.subarray(p, q), y: b.y.subarray(p, q), kind: b.kind.subarray(p, q), from: b.from.subarray(s, t),
    to: b.to.subarray(s, t), value: b.value.subarray(s, t), molecule: f & 1, directed: f & 2, thinned: f & 8,
    note: f & 4 ? "too large to draw" : f & 8 ? `${t - s} of its edges are drawn` : ""};
}
async function nearest(i) {  // [{i, d, low, high}]
  if (!meta.k) return [];
  const b = await block("n", Math.floor(i / meta.block), (r, count) => ({
    i: r.u32(count * meta.k), d: r.f32(count * meta.k), low: r.f32(count * meta.k), high: r.f32(count * meta.k)}));
  const found = [], g = (i % meta.block) * meta.k;
  for (let j = g; j < g + meta.k; j++)
    if (b.i[j] < n) found.push({i: b.i[j], d: b.d[j], low: b.low[j], high: b.high[j]});
  return found;
}
const NONE = 65535;
async function mapping(i, j) {  // for each node of i the node of its j-th neighbor, or NONE; null if it was not computed
  if (!meta.mappings) return null;
  const b = await block("m", Math.floor(i / meta.block), (r, count) => {
    const at = starts(r.u16(count * meta.k));
    return {at, images: r.u16(at[count * meta.k])};
  });
  const g = (i % meta.block) * meta.k + j, images = b.images.subarray(b.at[g], b.at[g + 1]);
  return images.length ? images : null;
}
const CHANGED = 1, REMOVED = 2, ADDED = 3;
function difference(g, h, images) {  // what differs between two graphs, as marks of [g, h]
  const [own, theirs] = [g, h].map(one => ({nodes: new Uint8Array(one.x.length), edges: new Uint8Array(one.from.length)}));
  theirs.nodes.fill(ADDED);
  images.forEach((x, i) => {
    if (x === NONE) own.nodes[i] = REMOVED;
    else own.nodes[i] = theirs.nodes[x] = g.kind[i] === h.kind[x] ? 0 : CHANGED;
  });
  if (g.thinned || h.thinned) return [own, theirs];
  const key = (a, b) => g.directed || a < b ? a * 65536 + b : b * 65536 + a, edges = new Map();
  for (let e = 0; e < h.from.length; e++) edges.set(key(h.from[e], h.to[e]), e);
  theirs.edges.fill(ADDED);
  for (let e = 0; e < g.from.length; e++) {
    const [a, b] = [images[g.from[e]], images[g.to[e]]], f = a === NONE || b === NONE ? undefined : edges.get(key(a, b));
    if (f === undefined) own.edges[e] = REMOVED;
    else own.edges[e] = theirs.edges[f] = g.value[e] === h.value[f] ? 0 : CHANGED;
  }
  return [own, theirs];
}
function turned(h, g, images) {  // h, turned and mirrored towards g: by the correspondence, or by near nodes of equal kinds
  const own = [], other = [];
  if (images) images.forEach((x, i) => { if (x !== NONE) { own.push(i); other.push(x); } });
  else { own.push(...g.x.keys()); other.push(...h.x.keys()); }
  if (own.length < 2 || other.length < 2 || !images && own.length * other.length > 10000) return h;
  const [ours, theirs] = [[g, own], [h, other]].map(([{x, y, kind, from, to}, list]) => {  // centered, unit: mean edge
    const mean = part => list.reduce((sum, i) => sum + part[i], 0) / list.length, [a, b] = [mean(x), mean(y)];
    const unit = from.reduce((sum, i, e) => sum + Math.hypot(x[i] - x[to[e]], y[i] - y[to[e]]), 0) / from.length || 1;
    return list.map(i => [(x[i] - a) / unit, (y[i] - b) / unit, kind[i]]);
  });
  let [cos, sin, mirror, least] = [1, 0, 1, Infinity];
  for (const m of [1, -1]) for (let degrees = 0; degrees < 360; degrees += 2) {
    const c = Math.cos(degrees * Math.PI / 180), s = Math.sin(degrees * Math.PI / 180);
    const cost = theirs.reduce((sum, [x, y, kind], at) => {
      const u = c * x - s * m * y, v = s * x + c * m * y;
      const far = ([p, q, same]) => (p - u) ** 2 + (q - v) ** 2 + (same === kind ? 0 : .5);
      return sum + (images ? far(ours[at]) : ours.reduce((near, one) => Math.min(near, far(one)), 4));
    }, 0);
    if (cost < least - 1e-9) [cos, sin, mirror, least] = [c, s, m, cost];
  }
  const x = Float64Array.from(h.x, (_, i) => cos * h.x[i] - sin * mirror * h.y[i]);
  const y = Float64Array.from(h.y, (_, i) => sin * h.x[i] + cos * mirror * h.y[i]);
  const [lowX, lowY] = [Math.min(...x), Math.min(...y)];
  return {...h, x: x.map(v => v - lowX), y: y.map(v => v - lowY)};
}
const texts = async i => meta.texts.length
  ? (await block("t", Math.floor(i / meta.block), r => JSON.parse(new TextDecoder().decode(r.bytes))))[i % meta.block] : [];

if (typeof DecompressionStream === "undefined") {
  $("word").textContent = "This browser has no DecompressionStream to unpack the map: use one of 2023 or later.";
  return;
}
const [ids, place] = [await json("ids"), new Reader(await part("points"))];
const px = place.u16(n), py = place.u16(n);
const columns = await Promise.all(meta.columns.map(async (c, at) => {
  const r = new Reader(await part("c" + at));
  if (c.kind === "category") return {...c, codes: r.u8(n)};
  const raw = c.whole ? r.u16(n) : r.f32(n);  // whole numbers from `base` on; 65535 is missing
  return {...c, value: i => c.whole ? (raw[i] === 65535 ? NaN : c.base + raw[i]) : raw[i]};
}));

/* ---- colors: safe for the color-blind (Okabe and Ito; ramps like viridis), ten times two shapes ---- */

const MARKS = ["", "#e69f00", "#d55e00", "#56b4e9"];  // changed, removed, added
const dark = () => document.documentElement.dataset.theme === "dark";
const themed = name => meta.colors[name][Number(dark())];
const elementColor = symbol => themed("elements")[symbol] ?? css("--ink");
const known = new Map();  // colors of the theme, asked for once
function css(name) {
  if (!known.has(name)) known.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return known.get(name);
}
const hex = color => "#" + Array.from(color, c => c.toString(16).padStart(2, "0")).join("");
const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
function ramp(t) {
  const table = themed("ramp"), at = Math.min(Math.max(t, 0), 1) * (table.length - 1);
  const low = Math.min(Math.floor(at), table.length - 2);
  return table[low].map((v, c) => Math.round(v + (table[low + 1][c] - v) * (at - low)));
}
const hue = code => themed("classes")[code % 10];
const isSquare = code => code % 20 > 9;
const isRest = name => /^\d+ others$/.test(name);  // rare classes
const classColor = code => code === 255 || code === 19 && isRest(color.categories[19]) ? css("--dim") : hue(code);
const cut = (text, most = 22) => text.length > most ? text.slice(0, most - 1) + "…" : text;
const shown = v => Number.isNaN(v) ? "missing" : Number.isInteger(v) ? v.toLocaleString("en") : +v.toPrecision(4) + "";

const length = v => v < 1e-6 ? "0" : v < 1e-3 ? v.toExponential(0) : v.toPrecision(2);

let color = columns.length ? columns[Math.max(meta.first, 0)] : null;
const hidden = new Map(), ranges = new Map();  // by column: codes that the legend switched off, or [low, high] that are shown
const off = new Uint8Array(n);  // points that a filter hides
const isHidden = i => off[i] === 1;
function filter() {
  off.fill(0);
  for (const [column, codes] of hidden) if (codes.size) for (let i = 0; i < n; i++) if (codes.has(column.codes[i])) off[i] = 1;
  for (const [column, [low, high]] of ranges) for (let i = 0; i < n; i++) if (!(column.value(i) >= low && column.value(i) <= high)) off[i] = 1;
  paint();
}
function colorOf(i) {  // [r, g, b]
  if (color === null) return rgb(hue(0));
  if (color.kind === "category") return rgb(classColor(color.codes[i]));
  const v = color.value(i);
  return Number.isNaN(v) ? rgb(css("--dim")) : ramp((v - color.low) / (color.high - color.low || 1));
}
function valueText(column, i) {
  return column.kind === "category" ? column.categories[column.codes[i]] ?? "missing" : shown(column.value(i));
}

/* ---- graphs: drawn on small canvases ---- */

function prepared(canvas, ratio) {  // sharp on any screen
  const width = canvas.clientWidth || 200, height = Math.round(width * ratio), dpr = devicePixelRatio || 1;
  canvas.width = width * dpr; canvas.height = height * dpr; canvas.style.height = height + "px";
  const ctx = canvas.getContext("2d");
  ctx.scale(dpr, dpr); ctx.clearRect(0, 0, width, height);
  return [ctx, width, height];
}
function drawGraph(canvas, g, marks = null, ratio = .8) {
  const [ctx, width, height] = prepared(canvas, ratio), count = g.x.length, ink = css("--ink");
  canvas.dataset.nodes = count; canvas.dataset.edges = g.from.length; canvas.dataset.labels = width >= 120;
  if (!count) {
    ctx.fillStyle = css("--soft"); ctx.font = "13px system-ui"; ctx.textAlign = "center";
    ctx.fillText(g.note || "no nodes", width / 2, height / 2);
    return;
  }
  const maxX = Math.max(...g.x) || 1, maxY = Math.max(...g.y) || 1, pad = 18;
  const side = g.molecule && width >= 120 ? 28 : pad;  // room for NH₂
  const scale = Math.min((width - 2 * side) / Math.max(maxX, 1), (height - 2 * pad) / Math.max(maxY, 1));
  const X = i => width / 2 + (g.x[i] - maxX / 2) * scale, Y = i => height / 2 - (g.y[i] - maxY / 2) * scale;
  const radius = Math.max(1.4, Math.min(6.5, .17 * Math.min(width, 240) / Math.sqrt(count)));
  const bond = g.molecule && g.from.length
    ? Math.hypot(X(g.from[0]) - X(g.to[0]), Y(g.from[0]) - Y(g.to[0])) : 12;
  const beside = g.molecule ? sides(g) : null;
  if (marks) {  // halos of what differs
    ctx.globalAlpha = .6; ctx.lineCap = "butt"; ctx.lineWidth = g.molecule ? Math.max(4, .3 * bond) : radius + 3;
    for (let e = 0; e < g.from.length; e++) if (marks.edges[e]) {
      ctx.strokeStyle = MARKS[marks.edges[e]]; ctx.beginPath();
      ctx.moveTo(X(g.from[e]), Y(g.from[e])); ctx.lineTo(X(g.to[e]), Y(g.to[e])); ctx.stroke();
    }
    for (let i = 0; i < count; i++) if (marks.nodes[i]) {
      ctx.fillStyle = MARKS[marks.nodes[i]]; ctx.beginPath();
      ctx.arc(X(i), Y(i), !g.molecule ? 1.9 * radius + 1 : Math.max(4, bond * (meta.kinds[g.kind[i]] === "C" ? .36 : .56)), 0, 7); ctx.fill();
    }
  }
  ctx.globalAlpha = 1; ctx.lineCap = "round"; ctx.strokeStyle = g.molecule ? ink : css("--soft");
  for (let e = 0; e < g.from.length; e++) drawEdge(ctx, g, e, X, Y, radius, Math.min(bond, 26), beside);
  for (let i = 0; i < count; i++) g.molecule ? drawAtom(ctx, g, i, X, Y, bond, width >= 120) : drawNode(ctx, g.kind[i], X(i), Y(i), radius);
}
function sides(g) {  // for each bond the side on which more neighbors of its ends are: the inside of a ring
  const near = Array.from(g.x, () => []);
  for (let e = 0; e < g.from.length; e++) { near[g.from[e]].push(g.to[e]); near[g.to[e]].push(g.from[e]); }
  return Array.from(g.from, (a, e) => {
    const b = g.to[e], dx = g.x[b] - g.x[a], dy = g.y[b] - g.y[a];
    let sum = 0;
    for (const c of [...near[a], ...near[b]]) if (c !== a && c !== b) sum += Math.sign(dx * (g.y[c] - g.y[a]) - dy * (g.x[c] - g.x[a]));
    return sum < 0 ? 1 : -1;
  });
}
function drawEdge(ctx, g, e, X, Y, radius, bond, beside) {
  const x1 = X(g.from[e]), y1 = Y(g.from[e]), x2 = X(g.to[e]), y2 = Y(g.to[e]), v = g.value[e];
  const line = (shift, dash = []) => {  // parallel to the edge
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, sx = (y1 - y2) / length * shift, sy = (x2 - x1) / length * shift;
    ctx.setLineDash(dash); ctx.beginPath(); ctx.moveTo(x1 + sx, y1 + sy); ctx.lineTo(x2 + sx, y2 + sy); ctx.stroke();
  };
  if (g.molecule) {
    const gap = Math.max(1.3, bond * .09);
    ctx.lineWidth = Math.max(1, bond * .06);
    if (v === 2) { line(gap); line(-gap); } else line(0);
    if (v === 3) { line(1.8 * gap); line(-1.8 * gap); }
    if (v === 4) line(2 * gap * beside[e], [bond * .14, bond * .14]);  // aromatic
    ctx.setLineDash([]);
    return;
  }
  ctx.lineWidth = v ? .5 + v / 4 : g.from.length > 300 ? .5 : 1.1;  // v: level of the value, 1 to 15
  if (x1 === x2 && y1 === y2) {
    ctx.beginPath(); ctx.arc(x1, y1 - 1.6 * radius, 1.4 * radius, 0, 7); ctx.stroke();
    return;
  }
  line(0);
  if (g.directed) {
    const a = Math.atan2(y2 - y1, x2 - x1), size = 4 + ctx.lineWidth, bx = x2 - Math.cos(a) * radius, by = y2 - Math.sin(a) * radius;
    ctx.fillStyle = ctx.strokeStyle; ctx.beginPath(); ctx.moveTo(bx, by);
    ctx.lineTo(bx - size * Math.cos(a - .4), by - size * Math.sin(a - .4));
    ctx.lineTo(bx - size * Math.cos(a + .4), by - size * Math.sin(a + .4)); ctx.fill();
  }
}
function drawNode(ctx, kind, x, y, radius) {
  ctx.fillStyle = kind === 255 ? css("--soft") : hue(kind); ctx.strokeStyle = css("--back"); ctx.lineWidth = .8;
  ctx.beginPath();
  if (kind !== 255 && isSquare(kind)) ctx.rect(x - radius * .9, y - radius * .9, radius * 1.8, radius * 1.8);
  else ctx.arc(x, y, radius, 0, 7);
  ctx.fill(); ctx.stroke();
}
function drawAtom(ctx, g, i, X, Y, bond, labels) {  // carbon atoms are the corners; others show symbol, hydrogens and charge
  const label = meta.kinds[g.kind[i]] ?? "?";
  if (label === "C" && g.x.length > 1) return;
  const [, symbol, rest] = /^([A-Z*?][a-z]?)(.*)$/.exec(label) ?? [0, label, ""];
  if (!labels) {  // too small for text
    ctx.fillStyle = elementColor(symbol);
    ctx.beginPath(); ctx.arc(X(i), Y(i), Math.max(2, .25 * bond), 0, 7); ctx.fill();
    return;
  }
  let lean = 0;  // hydrogens stand on the side without neighbors
  for (let e = 0; e < g.from.length; e++) {
    if (g.from[e] === i) lean += X(g.to[e]) - X(i);
    if (g.to[e] === i) lean += X(g.from[e]) - X(i);
  }
  const size = Math.max(8, Math.min(15, bond * .62));
  ctx.font = `600 ${size}px system-ui, sans-serif`; ctx.textAlign = "left"; ctx.textBaseline = "middle";
  const own = ctx.measureText(symbol).width, before = lean > bond / 3 && rest.startsWith("H");
  const text = before ? rest.replace(/^(H[₂₃₄]?)(.*)$/, (_, h, charge) => h + symbol + charge) : symbol + rest;
  const left = before ? X(i) + own / 2 - ctx.measureText(text).width : X(i) - own / 2;
  ctx.fillStyle = css("--back"); ctx.globalAlpha = .88;
  ctx.beginPath(); ctx.arc(X(i), Y(i), size * .58, 0, 7); ctx.fill(); ctx.globalAlpha = 1;
  ctx.fillStyle = elementColor(symbol);
  ctx.fillText(text, left, Y(i) + .5);
}

/* ---- points: WebGL, or a 2D canvas with fewer points ---- */

const view = {x: 0, y: 0, zoom: 1};  // centre in map coordinates (-1 .. 1), zoom 1 shows all
let width = 1, height = 1, dpr = 1, unit = 1;
const mx = i => px[i] / 32767.5 - 1, my = i => py[i] / 32767.5 - 1;
const sx = i => width / 2 + (mx(i) - view.x) * unit * view.zoom, sy = i => height / 2 - (my(i) - view.y) * unit * view.zoom;
const extent = [1e-3, 1e-3];  // the map is centred; its sides may be shorter than 1
for (let i = 0; i < n; i++) { extent[0] = Math.max(extent[0], Math.abs(mx(i))); extent[1] = Math.max(extent[1], Math.abs(my(i))); }
const order = new Uint32Array(n);  // a fixed shuffle: the first points of it are a fair sample
for (let i = 0, state = 1; i < n; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  const j = Math.floor(state / 4294967296 * (i + 1));
  order[i] = order[j]; order[j] = i;
}
const selected = new Uint8Array(n);
let nSelected = 0, hovered = -1, chosen = -1, compared = 0, near = [], matches = [], lassoPath = null;
const pointSize = () => Math.max(1.9, Math.min(9, 72 / Math.cbrt(n + 200))) * Math.min(2.4, view.zoom ** .35);

const VERTEX = `attribute vec2 place; attribute vec4 color; attribute float rank; uniform vec4 view; uniform mediump float size; varying vec4 tint;
void main() { gl_Position = vec4((place * 2. - 1. - view.xy) * view.zw, .9 - 1.8 * rank, 1);
  float a = floor(color.a * 255. + .5); tint = vec4(color.rgb, mod(a, 128.));
  gl_PointSize = tint.a < 1. ? 0. : size * (tint.a > 100. ? 1.35 : 1.); if (a > 127.5) tint.a += 1000.; }`;
const FRAGMENT = `precision mediump float; varying vec4 tint; uniform float opacity, size;
void main() { vec2 d = 2. * gl_PointCoord - 1.; float square = step(500., tint.a), a = tint.a - 1000. * square;
  float r = square > .5 ? max(abs(d.x), abs(d.y)) * 1.2 : length(d), cover = 1. - smoothstep(1. - 2. / size, 1., r);
  if (a < 1. || cover < .02) discard;
  float shade = (a > 40. ? opacity : .16) * cover; gl_FragColor = vec4(tint.rgb * shade, shade); }`;
let gl = pointsCanvas.getContext("webgl", {antialias: false, preserveDrawingBuffer: true});
let program, colorBuffer, rankBuffer;
function startGL() {
  const shader = (kind, text) => { const s = gl.createShader(kind); gl.shaderSource(s, text); gl.compileShader(s); return s; };
  program = gl.createProgram();
  gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX)); gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) { gl = null; return; }
  gl.useProgram(program); gl.enable(gl.DEPTH_TEST); gl.depthFunc(gl.LEQUAL); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const places = new Uint16Array(2 * n);
  order.forEach((i, r) => { places[2 * r] = px[i]; places[2 * r + 1] = py[i]; });
  const attribute = (name, data, width, kind, usage) => {
    const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, data, usage);
    gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, width, kind, true, 0, 0);
    return buffer;
  };
  attribute("place", places, 2, gl.UNSIGNED_SHORT, gl.STATIC_DRAW);
  colorBuffer = attribute("color", new Uint8Array(4 * n), 4, gl.UNSIGNED_BYTE, gl.DYNAMIC_DRAW);
  rankBuffer = attribute("rank", new Uint8Array(n), 1, gl.UNSIGNED_BYTE, gl.DYNAMIC_DRAW);
}
/* a point's fourth byte: 0 hidden, 20 faint, 60 plain, 110 emphasised; 128 more for a square */
const tints = new Uint8Array(4 * n), ranks = new Uint8Array(n);
function rankOf() {  // rare classes and selected graphs are drawn on top
  if (color?.kind !== "category") return i => selected[i] ? 250 : 1;
  const rank = new Uint8Array(256), common = color.counts.map((_, code) => code).sort((a, b) => color.counts[b] - color.counts[a]);
  common.forEach((code, at) => { rank[code] = 1 + at; });
  return i => rank[color.codes[i]] + (selected[i] ? 200 : 0);
}
function paint() {
  const rank = rankOf();
  for (let r = 0; r < n; r++) {
    const i = order[r], [red, green, blue] = colorOf(i);
    let a = isHidden(i) ? 0 : nSelected ? (selected[i] ? 110 : 20) : 60;
    if (a && color?.kind === "category" && color.codes[i] !== 255 && isSquare(color.codes[i])) a += 128;
    tints.set([red, green, blue, a], 4 * r); ranks[r] = rank(i);
  }
  if (gl) for (const [buffer, data] of [[colorBuffer, tints], [rankBuffer, ranks]]) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  }
  renewLayers(); redraw();
}

const MOST_2D = 20000;
let affordable = Math.min(n, 300000), thinned = true, moved = false, lastMove = 0, wanted = false, asked = 0, frames = 0;
function redraw() { if (!wanted) { wanted = true; asked = performance.now(); requestAnimationFrame(frame); } }
function move() { moved = true; redraw(); }  // fewer points while moving, if the machine is slow
function frame(now) {
  wanted = false; frames++;
  const late = performance.now() - asked, still = !moved && now - lastMove > 160;
  if (moved) {  // how long the browser was busy with the frame before says how many points are affordable
    if (late > 40) affordable = Math.max(3000, Math.floor(affordable * Math.max(.1, 28 / late)));
    else if (late < 24) affordable = Math.min(n, Math.ceil(affordable * 1.15));
    lastMove = now; moved = false;
  }
  drawPoints(still || !thinned ? n : Math.min(n, affordable));
  drawOver();
  if (!still) setTimeout(redraw, 170);
}
function inView(most) {  // places in the order of points that are shown, at most so many, those on top last
  const found = [];
  for (let r = 0; r < n && found.length < most; r++) {
    const x = sx(order[r]), y = sy(order[r]);
    if (tints[4 * r + 3] & 127 && x > -5 && y > -5 && x < width + 5 && y < height + 5) found.push(r);
  }
  return found.sort((a, b) => ranks[a] - ranks[b]);
}
function drawPoints(count) {
  const size = pointSize();
  pointsCanvas.dataset.drawn = count;
  if (gl) {
    gl.viewport(0, 0, pointsCanvas.width, pointsCanvas.height);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniform4f(gl.getUniformLocation(program, "view"), view.x, view.y, 2 * unit * view.zoom / width, 2 * unit * view.zoom / height);
    gl.uniform1f(gl.getUniformLocation(program, "size"), size * dpr + 1);  // their edges are soft
    gl.uniform1f(gl.getUniformLocation(program, "opacity"), n > 20000 ? .75 : .92);
    gl.drawArrays(gl.POINTS, 0, count);
    return;
  }
  const ctx = pointsCanvas.getContext("2d");
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0); ctx.clearRect(0, 0, width, height);
  for (const r of inView(Math.min(count, MOST_2D))) {
    const x = sx(order[r]), y = sy(order[r]), a = tints[4 * r + 3] & 127;
    ctx.globalAlpha = a > 40 ? .9 : .16; ctx.fillStyle = hex(tints.subarray(4 * r, 4 * r + 3));
    if (tints[4 * r + 3] > 127 || size < 3) ctx.fillRect(x - size / 2, y - size / 2, size, size);
    else { ctx.beginPath(); ctx.arc(x, y, size / 2, 0, 7); ctx.fill(); }
  }
  ctx.globalAlpha = 1;
}
function drawOver() {  // rings, lines to neighbors, the lasso
  const ctx = over.getContext("2d"), size = pointSize();
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0); ctx.clearRect(0, 0, width, height);
  const ring = (i, stroke, radius, line) => {
    ctx.strokeStyle = stroke; ctx.lineWidth = line; ctx.beginPath(); ctx.arc(sx(i), sy(i), radius, 0, 7); ctx.stroke();
  };
  drawLayers(ctx);
  for (const i of matches.slice(0, 1000)) ring(i, css("--mark"), size / 2 + 4, 1.5);
  if (chosen >= 0) {
    near.forEach((hit, j) => {
      ctx.strokeStyle = j === compared ? css("--mark") : css("--soft"); ctx.lineWidth = j === compared ? 2 : 1;
      ctx.beginPath(); ctx.moveTo(sx(chosen), sy(chosen)); ctx.lineTo(sx(hit.i), sy(hit.i)); ctx.stroke();
      ring(hit.i, j === compared ? css("--mark") : css("--soft"), size / 2 + 4, j === compared ? 2.5 : 1.5);
    });
    ring(chosen, css("--ink"), size / 2 + 5, 3);
  }
  if (hovered >= 0) ring(hovered, css("--ink"), size / 2 + 3, 1.5);
  if (lassoPath) {
    ctx.strokeStyle = css("--focus"); ctx.fillStyle = css("--focus"); ctx.lineWidth = 1.5; ctx.beginPath();
    lassoPath.forEach(([x, y], at) => at ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
    ctx.closePath(); ctx.stroke(); ctx.globalAlpha = .1; ctx.fill(); ctx.globalAlpha = 1;
  }
}

/* ---- layers: names of classes, edges between nearest graphs, activity cliffs ---- */

const layers = {labels: true, edges: false, cliffs: false};
let spots = [], pairs = null, edges = null, cliffs = [];
function labelColumn() {  // the colored column if its classes have names, else scaffolds, labels or any classes
  const colored = color?.kind === "category" ? color : null, classes = columns.filter(column => column.kind === "category" && column.name !== "cluster");
  const named = name => classes.find(column => column.name === name);
  if (colored?.categories.some(name => /[a-z]/i.test(name))) return colored;
  return named("scaffold") ?? colored ?? named("label") ?? classes[0];
}
function findSpots() {  // of each class the densest place among the points that are shown
  const column = labelColumn(), SIDE = 40, counts = new Map();
  spots = [];
  if (!column) return;
  const cell = v => Math.min(SIDE - 1, Math.floor(v * SIDE / 65536));
  for (let i = 0; i < n; i++) if (!off[i] && column.codes[i] !== 255) {
    if (!counts.has(column.codes[i])) counts.set(column.codes[i], new Float64Array(SIDE * SIDE));
    counts.get(column.codes[i])[cell(px[i]) * SIDE + cell(py[i])]++;
  }
  for (const [code, grid] of counts) {
    const around = at => [-1, 0, 1].flatMap(a => [-1, 0, 1].map(b => [Math.floor(at / SIDE) + a, at % SIDE + b]))
      .filter(([a, b]) => a >= 0 && b >= 0 && a < SIDE && b < SIDE).map(([a, b]) => a * SIDE + b);
    let best = 0, most = 0, total = 0;
    grid.forEach((count, at) => {
      const sum = count && around(at).reduce((all, other) => all + grid[other], count);
      total += count; if (sum > most) { most = sum; best = at; }
    });
    const near = around(best), mass = near.reduce((all, at) => all + grid[at], 0), name = column.categories[code];
    const mean = part => near.reduce((all, at) => all + grid[at] * (part(at) + .5), 0) / mass / SIDE * 2 - 1;
    if (total < Math.max(2, n / 400) || isRest(name)) continue;
    spots.push({text: cut(name, 16), x: mean(at => Math.floor(at / SIDE)), y: mean(at => at % SIDE), total});
  }
  spots.sort((a, b) => b.total - a.total);
}
function placedLabels(ctx) {  // [{text, x, y, wide}] without overlap, those of large classes first
  const placed = [], HIGH = 18;
  ctx.font = "600 13px system-ui, sans-serif";
  for (const spot of spots) {
    const x = width / 2 + (spot.x - view.x) * unit * view.zoom, y = height / 2 - (spot.y - view.y) * unit * view.zoom;
    const wide = ctx.measureText(spot.text).width + 8;
    if (placed.length > width * height / 45000 || x < 0 || y < 0 || x > width || y > height) continue;
    const left = Math.max(wide / 2 + 2, Math.min(width - wide / 2 - 2, x));
    const shift = [0, -HIGH, HIGH, -2 * HIGH, 2 * HIGH].find(dy => y + dy > HIGH && y + dy < height - HIGH && placed.every(
      other => Math.abs(other.x - left) > (other.wide + wide) / 2 || Math.abs(other.y - y - dy) > HIGH));
    if (shift !== undefined) placed.push({text: spot.text, x: left, y: y + shift, wide});
  }
  return placed;
}
async function allPairs() {  // [i, j, d, high, rank] of all nearest graphs, each pair once
  const seen = new Set(), list = [];
  for (let i = 0; i < n; i++) (await nearest(i)).forEach((hit, rank) => {
    const key = Math.min(i, hit.i) * n + Math.max(i, hit.i);
    if (!seen.has(key)) { seen.add(key); list.push([i, hit.i, hit.d, hit.high, rank]); }
  });
  return list;
}
function findCliffs() {  // pairs in the nearer half, apart by a standard deviation or in class
  const middle = pairs.map(pair => pair[3]).sort((a, b) => a - b)[Math.floor(pairs.length / 2)] ?? 0, floor = middle / 20 || 1e-9;
  const spread = color?.kind === "number" ? moments(i => !off[i])[1] : 0;
  const apart = (i, j) => color.kind === "number" ? Math.abs(color.value(i) - color.value(j))
    : Number(color.codes[i] !== color.codes[j] && color.codes[i] !== 255 && color.codes[j] !== 255);
  cliffs = !color ? [] : pairs.filter(([i, j, , high]) => !off[i] && !off[j] && high <= middle && apart(i, j) > 0 && apart(i, j) >= spread)
    .map(([i, j, d, high]) => ({i, j, d, high, score: apart(i, j) / Math.max(high, floor)}))
    .sort((a, b) => b.score - a.score).slice(0, 30);
  $("pairs").replaceChildren(...cliffs.map(({i, j, d}) => {
    const row = element("li"), text = `${ids[i]} and ${ids[j]}: ${valueText(color, i)} and ${valueText(color, j)}, d ${length(d)}`;
    const button = element("button", text, {type: "button"});
    button.addEventListener("click", async () => { await choose(i); intoView(i); const at = near.findIndex(hit => hit.i === j); if (at >= 0) compare(at); });
    row.append(button);
    return row;
  }));
  if (!cliffs.length) $("pairs").append(element("li", "no pair of near graphs differs much in this column", {className: "small"}));
}
function arc({i, j}) {  // a bent path
  const [a, b, c, d] = [sx(i), sy(i), sx(j), sy(j)].map(Math.round);
  return `M${a},${b}Q${(a + c) / 2 + (d - b) / 3},${(b + d) / 2 - (c - a) / 3} ${c},${d}`;
}
function renewLayers() {  // after a change of color or filter
  edges = null;
  if (layers.labels) findSpots();
  if (pairs && layers.cliffs) findCliffs();
}
function drawLayers(ctx) {
  if (layers.edges && pairs && (performance.now() - lastMove > 160 || pairs.length < 20000)) {
    if (!edges) {
      edges = new Path2D();
      for (const [i, j, , , rank] of pairs) if (rank < 3 && !off[i] && !off[j]) { edges.moveTo(mx(i), -my(i)); edges.lineTo(mx(j), -my(j)); }
    }
    const scale = unit * view.zoom;
    ctx.save(); ctx.translate(width / 2 - view.x * scale, height / 2 + view.y * scale); ctx.scale(scale, scale);
    ctx.lineWidth = .8 / scale; ctx.strokeStyle = css("--soft"); ctx.globalAlpha = .45; ctx.stroke(edges); ctx.restore();
  }
  if (layers.cliffs) for (const one of cliffs) { ctx.strokeStyle = css("--mark"); ctx.lineWidth = 1.6; ctx.stroke(new Path2D(arc(one))); }
  if (!layers.labels) return;
  ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineJoin = "round";
  for (const {text, x, y} of placedLabels(ctx)) {
    ctx.strokeStyle = css("--back"); ctx.lineWidth = 4; ctx.strokeText(text, x, y);
    ctx.fillStyle = css("--ink"); ctx.fillText(text, x, y);
  }
}
async function setLayer(name, on) {
  layers[name] = on; $(name).setAttribute("aria-pressed", on);
  if (on && name !== "labels") pairs ??= await allPairs();
  $("pairs").hidden = !layers.cliffs;
  renewLayers(); redraw();
}
for (const name of Object.keys(layers)) {
  $(name).disabled = name !== "labels" && (n > 100000 || !meta.k);
  $(name).addEventListener("click", () => setLayer(name, !layers[name]));
}
function resize() {
  dpr = Math.min(devicePixelRatio || 1, 2); width = stage.clientWidth; height = stage.clientHeight;
  unit = Math.max(20, Math.min((width / 2 - 26) / extent[0], (height / 2 - 26) / extent[1]));
  for (const c of [pointsCanvas, over]) { c.width = width * dpr; c.height = height * dpr; }
  redraw();
}

/* Points in cells of a grid, so that the nearest to the pointer is found at once. */
const CELLS = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 4))));
const cellOf = i => Math.min(CELLS - 1, Math.floor(px[i] * CELLS / 65536)) * CELLS + Math.min(CELLS - 1, Math.floor(py[i] * CELLS / 65536));
const cellStart = new Uint32Array(CELLS * CELLS + 1), inCell = new Uint32Array(n);
for (let i = 0; i < n; i++) cellStart[cellOf(i) + 1]++;
for (let c = 0; c < CELLS * CELLS; c++) cellStart[c + 1] += cellStart[c];
{ const next = cellStart.slice(); for (let i = 0; i < n; i++) inCell[next[cellOf(i)]++] = i; }
function pointAt(x, y, reach) {  // the nearest shown point within so many pixels, or -1
  const at = v => Math.floor((v + 1) / 2 * CELLS), clip = v => Math.max(0, Math.min(CELLS - 1, v));
  const wx = px_ => view.x + (px_ - width / 2) / (unit * view.zoom), wy = py_ => view.y - (py_ - height / 2) / (unit * view.zoom);
  let best = -1, least = reach * reach;
  for (let a = clip(at(wx(x - reach))); a <= clip(at(wx(x + reach))); a++)
    for (let b = clip(at(wy(y + reach))); b <= clip(at(wy(y - reach))); b++)
      for (let k = cellStart[a * CELLS + b]; k < cellStart[a * CELLS + b + 1]; k++) {
        const i = inCell[k], d = (sx(i) - x) ** 2 + (sy(i) - y) ** 2;
        if (d < least && !isHidden(i)) { least = d; best = i; }
      }
  return best;
}

/* ---- pointer and keys ---- */

let lassoMode = false;
const pointers = new Map();
let dragged = 0, pinch = 0;
function zoomAt(x, y, factor) {
  const zoom = Math.max(.5, Math.min(300, view.zoom * factor)), dx = (x - width / 2) / unit, dy = (height / 2 - y) / unit;
  view.x += dx / view.zoom - dx / zoom; view.y += dy / view.zoom - dy / zoom; view.zoom = zoom;
  move();
}
const where = event => { const box = over.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
over.addEventListener("pointerdown", event => {
  over.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, where(event)); dragged = 0; pinch = 0;
  if ((lassoMode || event.shiftKey) && pointers.size === 1) lassoPath = [where(event)];
  hover(-1);
});
over.addEventListener("pointermove", event => {
  const [x, y] = where(event), before = pointers.get(event.pointerId);
  if (!before) { if (event.pointerType !== "touch") hover(pointAt(x, y, 14), x, y); return; }
  pointers.set(event.pointerId, [x, y]);
  dragged += Math.abs(x - before[0]) + Math.abs(y - before[1]);
  if (pointers.size === 2) {
    const [[ax, ay], [bx, by]] = pointers.values(), apart = Math.hypot(ax - bx, ay - by);
    if (pinch) zoomAt((ax + bx) / 2, (ay + by) / 2, apart / pinch);
    pinch = apart;
  } else if (lassoPath) { lassoPath.push([x, y]); redraw(); }
  else { view.x -= (x - before[0]) / (unit * view.zoom); view.y += (y - before[1]) / (unit * view.zoom); move(); }
});
function released(event) {
  if (!pointers.delete(event.pointerId)) return;
  const path = lassoPath;
  lassoPath = null;
  if (path && dragged > 8) selectInside(path);
  else if (dragged < 6 && event.type === "pointerup") choose(pointAt(...where(event), event.pointerType === "touch" ? 24 : 14));
  redraw();
}
over.addEventListener("pointerup", released);
over.addEventListener("pointercancel", released);
over.addEventListener("pointerleave", () => hover(-1));
over.addEventListener("wheel", event => { event.preventDefault(); zoomAt(...where(event), Math.exp(-event.deltaY * .0016)); }, {passive: false});
over.addEventListener("dblclick", event => zoomAt(...where(event), 2));
function home() { Object.assign(view, {x: 0, y: 0, zoom: 1}); move(); }
function setLasso(on) {
  lassoMode = on; over.classList.toggle("lasso", on);
  $("lasso").setAttribute("aria-pressed", on); $("pan").setAttribute("aria-pressed", !on);
}
function step(dx, dy) {  // the nearest graph in a direction from the chosen one
  const from = chosen >= 0 ? chosen : pointAt(width / 2, height / 2, 1e5);
  if (chosen < 0) { choose(from); return; }
  let best = -1, least = Infinity;
  for (let i = 0; i < n; i++) {
    const x = sx(i) - sx(from), y = sy(from) - sy(i), along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
    if (i !== from && along > 0 && aside <= along && along + aside < least && !isHidden(i)) { least = along + aside; best = i; }
  }
  if (best >= 0) { choose(best); intoView(best); }
}
function intoView(i) {
  if (sx(i) < 20 || sy(i) < 20 || sx(i) > width - 20 || sy(i) > height - 20) { view.x = mx(i); view.y = my(i); }
  move();
}
const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
addEventListener("keydown", event => {
  const typing = /INPUT|SELECT/.test(event.target.tagName);
  if (event.key === "Escape") { clearAll(); over.focus(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key], onMap = event.target === over || event.target === document.body;
  if (arrow && onMap) {
    event.preventDefault();
    if (event.shiftKey) step(...arrow);
    else { view.x += arrow[0] * .25 / view.zoom; view.y += arrow[1] * .25 / view.zoom; move(); }
  } else if (event.key === "+" || event.key === "=") zoomAt(width / 2, height / 2, 1.4);
  else if (event.key === "-") zoomAt(width / 2, height / 2, 1 / 1.4);
  else if (event.key === "0") home();
  else if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  else if (event.key === "l") setLasso(true);
  else if (event.key === "m") setLasso(false);
  else if (event.key === "d") $("theme").click();
  else if (/^[1-9]$/.test(event.key) && near[event.key - 1]) compare(event.key - 1);
  else if (event.key === "Enter" && onMap && near[compared]) { const to = near[compared].i; choose(to); intoView(to); }
});
function selectInside(path) {
  let count = 0;
  const xs = path.map(p => p[0]), ys = path.map(p => p[1]);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  selected.fill(0);
  for (let i = 0; i < n; i++) {
    const x = sx(i), y = sy(i);
    if (x < left || x > right || y < top || y > bottom || isHidden(i)) continue;
    let inside = false;
    for (let a = 0, b = path.length - 1; a < path.length; b = a++)
      if (ys[a] > y !== ys[b] > y && x < (xs[b] - xs[a]) * (y - ys[a]) / (ys[b] - ys[a]) + xs[a]) inside = !inside;
    if (inside) { selected[i] = 1; count++; }
  }
  nSelected = count;
  tellSelection(); paint();
}
function clearAll() {
  hidden.clear(); ranges.clear(); off.fill(0);
  selected.fill(0); nSelected = 0; matches = []; $("search").value = ""; $("found").replaceChildren();
  choose(-1); tellSelection(); legend(); paint();
}

/* ---- panel ---- */

function element(tag, text = "", more = {}) { const e = Object.assign(document.createElement(tag), more); e.textContent = text; return e; }
let hoverCall = 0;
async function hover(i, x = 0, y = 0) {
  if (i < 0) { hoverCall++; tip.hidden = true; if (hovered >= 0) { hovered = -1; redraw(); } return; }
  const left = x + 18 + 216 > width ? x - 18 - 216 : x + 18;
  tip.style.left = Math.max(4, left) + "px"; tip.style.top = Math.max(4, Math.min(y - 30, height - 240)) + "px";
  if (i === hovered) return;
  hovered = i;
  const call = ++hoverCall, g = await graph(i);
  if (call !== hoverCall) return;  // the pointer has gone on meanwhile
  tip.hidden = false; tip.dataset.graph = i;
  tip.querySelector("b").textContent = ids[i];
  tip.querySelector("span").textContent = color ? `${valueText(color, i)} · ${color.name}` : "";
  drawGraph(tip.querySelector("canvas"), g);
  redraw();
}
let chooseCall = 0;
async function choose(i) {
  const call = ++chooseCall;
  chosen = i; near = []; compared = 0; matches = [];
  $("chosen").classList.toggle("open", i >= 0);
  if (i < 0) { $("chosen").replaceChildren($("hint") ?? hint); redraw(); return; }
  const [hits, words] = await Promise.all([nearest(i), texts(i)]);
  if (call !== chooseCall) return;
  near = hits;
  const facts = element("table", "", {className: "facts"});
  const fact = (name, value) => { const row = facts.insertRow(); row.insertCell().textContent = name; row.insertCell().textContent = value; };
  meta.texts.forEach((name, at) => { if (words[at]) fact(name, words[at]); });
  if (color) fact(color.name, valueText(color, i));
  columns.forEach(column => { if (column !== color) fact(column.name, valueText(column, i)); });
  const rows = [...facts.rows].slice(12), more = element("button", `${rows.length} more`, {type: "button", id: "more"});
  rows.forEach(row => { row.hidden = true; }); more.hidden = !rows.length;
  more.addEventListener("click", () => { rows.forEach(row => { row.hidden = false; }); more.hidden = true; });
  const pair = element("div", "", {className: "pair", id: "pair"}), strip = element("div", "", {className: "near"});
  const kinds = element("div", "", {className: "kinds"}), figures = [0, 1].map(() => {
    const figure = element("figure"); figure.append(element("canvas"), element("figcaption")); return figure;
  });
  if (hits.length) pair.append(...figures); else { pair.append(figures[0]); pair.style.gridTemplateColumns = "1fr"; }
  const close = element("button", "×", {type: "button", className: "close", ariaLabel: "close"});
  close.addEventListener("click", () => choose(-1));
  const title = element("h2", ids[i]);
  $("chosen").replaceChildren(close, title, pair, kinds);
  if (hits.length) $("chosen").append(element("h3", `Nearest graphs, ${meta.title}`), strip);
  const most = Math.max(...hits.map(hit => hit.high), 1e-9);
  hits.forEach((hit, j) => {
    const button = element("button", "", {type: "button", title: `${ids[hit.i]}: ${meta.errors}`});
    const bar = element("div", "", {className: "bar"}), range = element("i"), needle = element("b");
    range.style.left = 100 * hit.low / most + "%"; range.style.width = Math.max(1, 100 * (hit.high - hit.low) / most) + "%";
    needle.style.left = 100 * hit.d / most + "%"; bar.append(range, needle);
    const errors = ["", `± ${length(hit.high - hit.d)}`, `${length(hit.low)} to ${length(hit.high)}`][meta.bars];
    button.append(element("canvas"), element("span", `${j + 1}  ${ids[hit.i]}`), element("span", `d ${length(hit.d)}`), element("span", errors));
    const value = element("span", "", {className: "value"});
    if (color) value.append(spotOf(hex(colorOf(hit.i))), valueText(color, hit.i));
    button.append(value, bar);
    button.addEventListener("click", () => { if (compared === j && button.ariaPressed === "true") { choose(hit.i); intoView(hit.i); } else compare(j); });
    strip.append(button);
    Promise.all([graph(i), graph(hit.i), mapping(i, j)]).then(([g, h, images]) =>
      drawGraph(button.querySelector("canvas"), turned(h, g, images)));
  });
    $("chosen").append(element("p", "", {className: "small", id: "marks"}), facts, more);
  if (hits.length) compare(0); else graph(i).then(g => show(figures[0], i, g, null));
  kindsOf([i, ...hits.map(hit => hit.i)]).then(list => kinds.replaceChildren(...list));
  redraw();
}
function spotOf(fill, square) {
  const spot = element("i", "", {className: square ? "square" : ""});
  spot.style.background = fill;
  return spot;
}
function show(figure, i, g, marks) {
  drawGraph(figure.querySelector("canvas"), g, marks, .95);
  figure.dataset.graph = i;
  figure.querySelector("figcaption").textContent = ids[i] + (g.note ? ` (${g.note})` : "");
}
async function compare(j) {
  compared = Number(j);
  const i = chosen, other = near[compared].i, [g, h, images] = await Promise.all([graph(i), graph(other), mapping(i, compared)]);
  if (chosen !== i || near[compared].i !== other) return;
  const sides = $("pair").children, both = images ? difference(g, h, images) : [];
  const most = both.length && both.every(({nodes}) => 2 * nodes.filter(Boolean).length > nodes.length), [own, theirs] = most ? [] : both;
  $("marks").textContent = `${most ? "Most nodes differ: not marked." : meta.noMarks || "Marked: changed (yellow), only here (red, blue)."} Click a neighbor twice to go to it.`;
  show(sides[0], i, g, own); show(sides[1], other, turned(h, g, images), theirs);
  $("chosen").querySelectorAll(".near button").forEach((button, at) => { button.ariaPressed = at === compared; });
  redraw();
}
async function kindsOf(list) {  // what the colors of nodes stand for, in these graphs
  const seen = new Map();
  for (const g of await Promise.all(list.map(graph)))
    if (!g.molecule) for (const kind of g.kind) if (kind !== 255) seen.set(kind, meta.kinds[kind]);
  return [...seen].sort((a, b) => a[0] - b[0]).slice(0, 24).map(([kind, name]) => {
    const line = element("span");
    line.append(spotOf(hue(kind), isSquare(kind)), name);
    return line;
  });
}
function legend() {
  const box = $("legend");
  box.replaceChildren();
  $("meaning").textContent = color?.meaning ?? "";
  if (!color) return;
  if (color.kind === "category") {
    const codes = hidden.get(color) ?? hidden.set(color, new Set()).get(color);
    const press = () => { [...box.children].forEach((button, code) => button.setAttribute("aria-pressed", !codes.has(code))); filter(); };
    let before = new Set();
    color.categories.forEach((name, code) => {
      const button = element("button", "", {type: "button", title: "show or hide; alone with a double click, all with another"});
      button.append(spotOf(classColor(code), isSquare(code)), element("span", `${name} (${color.counts[code].toLocaleString("en")})`));
      button.setAttribute("aria-pressed", !codes.has(code));
      button.addEventListener("click", event => {
        if (event.detail === 2) {  // of what was shown before the first click
          const alone = !before.has(code) && before.size === color.categories.length - 1;
          codes.clear();
          if (!alone) color.categories.forEach((_, other) => { if (other !== code) codes.add(other); });
        } else { before = new Set(codes); if (!codes.delete(code)) codes.add(code); }
        press();
      });
      box.append(button);
    });
    return;
  }
  const holder = element("div", "", {className: "number"}), canvas = element("canvas"), ends = element("div", "", {className: "ends"});
  const middle = element("b"), own = color;
  canvas.title = "drag to show a range, click to show all";
  ends.append(element("span", (color.below ? "≤ " : "") + shown(color.low)), middle, element("span", (color.above ? "≥ " : "") + shown(color.high)));
  holder.append(canvas, ends); box.append(holder);
  const span = color.high - color.low, few = color.whole && span < 48, BARS = few ? Math.round(span) + 1 : 48;
  const bars = new Array(BARS).fill(0);
  for (let i = 0; i < n; i++) {
    const t = few ? (color.value(i) - color.low) / BARS : (color.value(i) - color.low) / (span || 1);
    if (!Number.isNaN(t)) bars[Math.max(0, Math.min(BARS - 1, Math.floor(t * BARS + 1e-9)))]++;
  }
  const draw = () => {
    const [ctx, w, h] = prepared(canvas, 54 / (canvas.clientWidth || 200)), most = Math.max(...bars, 1), range = ranges.get(own);
    bars.forEach((count, at) => {
      const value = own.low + (few ? at : (at + .5) / BARS * span), high = count ? Math.max(2, (h - 8) * count / most) : 0;
      ctx.fillStyle = hex(ramp((at + .5) / BARS));
      ctx.globalAlpha = range && (value < range[0] || value > range[1]) ? .2 : 1;
      ctx.fillRect(at * w / BARS, h - 7 - high, w / BARS - .6, high); ctx.fillRect(at * w / BARS, h - 5, w / BARS + .5, 5);
    });
    let left = 0;
    for (let i = 0; i < n; i++) left += !off[i];
    middle.textContent = range ? `${shown(Math.max(range[0], own.low))} to ${shown(Math.min(range[1], own.high))}: ${left.toLocaleString("en")} graphs` : "";
  };
  let from = null;
  const at = event => { const {left, width: wide} = canvas.getBoundingClientRect(); return Math.max(0, Math.min(1, (event.clientX - left) / wide)); };
  canvas.addEventListener("pointerdown", event => { from = at(event); canvas.setPointerCapture(event.pointerId); ranges.delete(own); filter(); draw(); });
  canvas.addEventListener("pointermove", event => {
    if (from === null) return;
    const [a, b] = [Math.min(from, at(event)), Math.max(from, at(event))];
    if (b - a < .02) return;
    const value = t => few ? own.low + Math.min(BARS - 1, Math.floor(t * BARS)) : own.low + t * span;
    ranges.set(own, [a === 0 ? -Infinity : value(a), b === 1 ? Infinity : value(b)]); filter(); draw();
  });
  canvas.addEventListener("pointerup", () => { from = null; });
  draw();
}
function moments(test) {  // mean and standard deviation of the colored numbers of some graphs
  let count = 0, sum = 0, squares = 0;
  for (let i = 0; i < n; i++) {
    const v = color.value(i) - color.low;
    if (test(i) && !Number.isNaN(v)) { count++; sum += v; squares += v * v; }
  }
  return count ? [sum / count + color.low, Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2))] : [NaN, NaN];
}
function summary() {  // the colored column in the selection and in the rest
  const table = $("summary"), line = (...cells) => { const row = table.insertRow(); cells.forEach(cell => { row.insertCell().textContent = cell; }); };
  table.replaceChildren();
  if (!nSelected || !color) return;
  line(color.name, "selected", "others");
  if (color.kind === "number") {
    const [[mean, sd], [others, sdOthers]] = [moments(i => selected[i]), moments(i => !selected[i])];
    line("mean", shown(mean), shown(others)); line("standard deviation", shown(sd), shown(sdOthers));
    return;
  }
  const own = color.categories.map(() => 0), percent = (part, all) => all ? `${(100 * part / all).toFixed(1)} %` : "";
  for (let i = 0; i < n; i++) if (selected[i] && color.codes[i] !== 255) own[color.codes[i]]++;
  own.map((count, code) => [count, code]).filter(([count]) => count).sort((a, b) => b[0] - a[0]).slice(0, 8).forEach(([count, code]) =>
    line(color.categories[code], percent(count, nSelected), percent(color.counts[code] - count, n - nSelected)));
}
function tellSelection() {
  $("selection").hidden = !nSelected;
  $("selected").textContent = `${nSelected.toLocaleString("en")} graphs selected`;
  summary();
}
/* One id a line; an id that has a line break itself is written as JSON. */
const selectedIds = () => ids.filter((_, i) => selected[i]).map(id => /[\r\n]/.test(id) ? JSON.stringify(id) : id).join("\n") + "\n";
function save(name, content, type) {
  const link = element("a", "", {download: name, href: URL.createObjectURL(new Blob([content], {type}))});
  link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
$("export").addEventListener("click", () => save("selected.txt", selectedIds(), "text/plain"));
const allTexts = () => wordsOf ??= Promise.all(Array.from({length: Math.ceil(n / meta.block)}, (_, at) => json("t" + at))).then(list => list.flat());
$("csv").addEventListener("click", async () => {
  const words = meta.texts.length ? await allTexts() : [], quoted = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const cell = (column, i) => column.kind === "category" ? column.categories[column.codes[i]] ?? ""
    : Number.isNaN(column.value(i)) ? "" : String(+column.value(i).toPrecision(7));
  const rows = [["id", ...columns.map(column => column.name), ...meta.texts]];
  for (let i = 0; i < n; i++) if (selected[i]) rows.push([ids[i], ...columns.map(column => cell(column, i)), ...(words[i] ?? [])]);
  save("selected.csv", rows.map(row => row.map(quoted).join(",")).join("\r\n") + "\r\n", "text/csv");
});
$("copy").addEventListener("click", () => navigator.clipboard?.writeText(selectedIds())
  .then(() => { $("selected").textContent = `${nSelected.toLocaleString("en")} ids copied`; }, () => { $("selected").textContent = "this browser does not allow copying: save them"; }));
$("clear").addEventListener("click", clearAll);
let searchCall = 0, wordsOf = null;
async function search(text) {  // graphs whose id, column or text has these characters; ids first
  const call = ++searchCall, found = new Map();
  const add = (i, why) => { if (found.size < 1000 && !found.has(i)) found.set(i, why); };
  const grade = i => ids[i].toLowerCase() === text ? 0 : ids[i].toLowerCase().startsWith(text) ? 1 : 2;
  if (text) ids.map((_, i) => i).filter(i => ids[i].toLowerCase().includes(text)).sort((a, b) => grade(a) - grade(b) || a - b)
    .forEach(i => add(i, ""));
  if (text) for (const column of columns) {
    if (column.kind === "category") {
      const codes = new Set(column.categories.flatMap((name, code) => name.toLowerCase().includes(text) ? [code] : []));
      if (codes.size) for (let i = 0; i < n; i++) if (codes.has(column.codes[i])) add(i, `${column.name}: ${valueText(column, i)}`);
    } else if (Number(text) === Number(text)) for (let i = 0; i < n; i++)
      if (column.value(i) === Number(text) || valueText(column, i) === text) add(i, `${column.name}: ${text}`);
  }
  if (text && meta.texts.length) {
    (await allTexts()).forEach((row, i) => row.forEach((word, at) => { if (word.toLowerCase().includes(text)) add(i, `${meta.texts[at]}: ${word}`); }));
    if (call !== searchCall) return;
  }
  matches = [...found.keys()];
  const rows = [...found].slice(0, 50).map(([i, why]) => {
    const row = element("li"), button = element("button", ids[i] + (why ? ` · ${why}` : ""), {type: "button"});
    button.addEventListener("click", () => find(i)); row.append(button);
    return row;
  });
  if (text && !rows.length) rows.push(element("li", "nothing found", {className: "small"}));
  $("found").replaceChildren(...rows); redraw();
}
$("search").addEventListener("input", event => search(event.target.value.trim().toLowerCase()));
$("search").addEventListener("keydown", event => { if (event.key === "Enter" && matches.length) find(matches[0]); });
function find(i) {
  view.zoom = Math.max(view.zoom, n > 2000 ? 6 : 2); view.x = mx(i); view.y = my(i);
  choose(i); move();
}
$("names").append(...columns.map(column => element("option", "", {value: column.name})));
$("color").value = color?.name ?? "";
function colorBy(text) {  // the column of that name, or the first whose name has the text
  const part = text.trim().toLowerCase(), has = test => columns.find(column => test(column.name.toLowerCase()));
  color = has(name => name === part) ?? has(name => part && name.includes(part)) ?? color;
  $("color").value = color?.name ?? "";
  legend(); paint(); summary(); if (chosen >= 0) choose(chosen);
}
$("color").addEventListener("change", event => colorBy(event.target.value));
$("color").addEventListener("focus", event => { event.target.placeholder = color?.name ?? ""; event.target.value = ""; });  // list all
$("color").addEventListener("blur", event => { event.target.value = color?.name ?? ""; });
$("pan").addEventListener("click", () => setLasso(false));
$("lasso").addEventListener("click", () => setLasso(true));
$("in").addEventListener("click", () => zoomAt(width / 2, height / 2, 1.5));
$("out").addEventListener("click", () => zoomAt(width / 2, height / 2, 1 / 1.5));
$("home").addEventListener("click", home);
const hint = $("hint");
function theme(name) { document.documentElement.dataset.theme = name; known.clear(); legend(); paint(); if (chosen >= 0) choose(chosen); }
$("theme").addEventListener("click", () => theme(dark() ? "light" : "dark"));
const wish = matchMedia("(prefers-color-scheme: dark)");
wish.addEventListener("change", () => theme(wish.matches ? "dark" : "light"));

/* ---- figures: the view with title and legend, as paths and texts ---- */

const TOP = 44, SIDE = 190;
function figureParts(most) {
  const size = pointSize(), parts = [], text = (words, x, y, more = {}) => parts.push({text: words, x, y, size: 13, anchor: "start", ...more});
  const disc = (x, y, r, square) => square ? `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z` : `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
  for (const r of inView(most)) {
    const a = tints[4 * r + 3], fill = hex(tints.subarray(4 * r, 4 * r + 3));
    parts.push({d: disc(+sx(order[r]).toFixed(2), +(sy(order[r]) + TOP).toFixed(2), +(size / 2).toFixed(2), a > 127), fill, opacity: (a & 127) > 40 ? .9 : .16});
  }
  if (layers.cliffs) for (const one of cliffs) parts.push({d: arc(one), stroke: css("--mark"), shift: TOP});
  if (layers.labels) for (const {text: words, x, y} of placedLabels(over.getContext("2d"))) text(words, x, y + TOP + 4, {anchor: "middle", bold: true, halo: true});
  parts.push({d: `M${width},0h${SIDE}v${height + TOP}h${-SIDE}zM0,0h${width}v${TOP}h${-width}z`, fill: css("--back"), opacity: 1});
  text(document.title, 14, 27, {size: 18, bold: true});
  if (!color) return parts;
  const left = width + 14;
  text(cut(color.name), left, TOP + 12, {bold: true});
  if (color.kind === "category") color.categories.forEach((name, code) => {
    parts.push({d: disc(left + 6, TOP + 34 + 20 * code, 5, isSquare(code)), fill: classColor(code), opacity: 1});
    text(cut(name), left + 18, TOP + 38 + 20 * code);
  });
  else {
    for (let at = 0; at < 40; at++)
      parts.push({d: `M${left},${TOP + 30 + 4 * (39 - at)}h16v4.5h-16z`, fill: hex(ramp(at / 39)), opacity: 1});
    text((color.above ? "≥ " : "") + shown(color.high), left + 22, TOP + 40); text((color.below ? "≤ " : "") + shown(color.low), left + 22, TOP + 190);
  }
  return parts;
}
function svgFigure() {
  const make = (tag, more) => { const e = document.createElementNS($("frame").namespaceURI, tag); for (const k in more) e.setAttribute(k, more[k]); return e; };
  const [w, h] = [width + SIDE, height + TOP], root = make("svg", {viewBox: `0 0 ${w} ${h}`, width: w, height: h});
  root.append(make("rect", {width: w, height: h, fill: css("--back")}));
  for (const part of figureParts(50000)) {
    if (part.d) root.append(make("path", part.stroke ? {d: part.d, fill: "none", stroke: part.stroke, "stroke-width": 1.6, transform: `translate(0 ${part.shift})`}
      : {d: part.d, fill: part.fill, "fill-opacity": part.opacity}));
    else {
      const more = part.halo ? {stroke: css("--back"), "stroke-width": 4, "stroke-linejoin": "round", "paint-order": "stroke"} : {};
      const e = make("text", {x: part.x, y: part.y, "font-size": part.size, "font-family": "system-ui, sans-serif", "text-anchor": part.anchor,
        "font-weight": part.bold ? 600 : 400, fill: css("--ink"), ...more});
      e.textContent = part.text; root.append(e);
    }
  }
  return new XMLSerializer().serializeToString(root);
}
async function pngFigure() {  // 7.2 inches wide, 300 dots per inch
  const canvas = element("canvas"), scale = 2160 / (width + SIDE), ctx = canvas.getContext("2d");
  canvas.width = 2160; canvas.height = Math.round((height + TOP) * scale);
  ctx.fillStyle = css("--back"); ctx.fillRect(0, 0, canvas.width, canvas.height); ctx.scale(scale, scale); ctx.lineJoin = "round";
  for (const part of figureParts(200000)) {
    ctx.globalAlpha = part.opacity ?? 1; ctx.fillStyle = part.fill ?? css("--ink");
    if (part.stroke) { ctx.save(); ctx.translate(0, part.shift); ctx.strokeStyle = part.stroke; ctx.lineWidth = 1.6; ctx.stroke(new Path2D(part.d)); ctx.restore(); }
    else if (part.d) ctx.fill(new Path2D(part.d));
    else {
      ctx.font = `${part.bold ? 600 : 400} ${part.size}px system-ui, sans-serif`; ctx.textAlign = part.anchor === "middle" ? "center" : "left"; ctx.textBaseline = "alphabetic";
      if (part.halo) { ctx.strokeStyle = css("--back"); ctx.lineWidth = 4; ctx.strokeText(part.text, part.x, part.y); }
      ctx.fillText(part.text, part.x, part.y);
    }
  }
  const plain = new Uint8Array(await (await new Promise(done => canvas.toBlob(done, "image/png"))).arrayBuffer());
  const density = new Uint8Array(21), fields = new DataView(density.buffer);  // the chunk pHYs: 11,811 dots per meter
  fields.setUint32(0, 9); density.set([112, 72, 89, 115], 4); fields.setUint32(8, 11811); fields.setUint32(12, 11811); density[16] = 1;
  let crc = -1;
  for (const byte of density.subarray(4, 17)) { crc ^= byte; for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xEDB88320 : crc >>> 1; }
  fields.setUint32(17, ~crc);
  return new Blob([plain.subarray(0, 33), density, plain.subarray(33)]);
}
$("svg").addEventListener("click", () => save("map.svg", svgFigure(), "image/svg+xml"));
$("png").addEventListener("click", async () => save("map.png", await pngFigure(), "image/png"));

/* ---- link: the view after the # of the address ---- */

function linkText() {
  const words = new URLSearchParams();
  words.set("v", [view.x, view.y, view.zoom].map(v => +v.toFixed(4)).join(" "));
  if (color) words.set("c", color.name);
  if (chosen >= 0) words.set("g", chosen);
  words.set("l", Object.keys(layers).filter(name => layers[name]).join(" "));
  for (const [column, codes] of hidden) if (codes.size) words.append("h", [columns.indexOf(column), ...codes].join(" "));
  for (const [column, range] of ranges) words.append("r", [columns.indexOf(column), ...range.map(v => +v.toPrecision(7))].join(" "));
  if (nSelected && nSelected <= 50000) {  // differences of the numbers of selected graphs
    let last = 0;
    const steps = [];
    for (let i = 0; i < n; i++) if (selected[i]) { steps.push((i - last).toString(36)); last = i; }
    words.set("s", steps.join(" "));
  }
  return "#" + words;
}
async function restore() {
  const words = new URLSearchParams(location.hash.slice(1)), list = text => (text ?? "").split(" ").filter(Boolean);
  if (!words.has("v")) return;
  const [x, y, zoom] = list(words.get("v")).map(Number);
  if ([x, y, zoom].every(Number.isFinite)) Object.assign(view, {x, y, zoom: Math.max(.5, Math.min(300, zoom))});
  color = columns.find(column => column.name === words.get("c")) ?? color; $("color").value = color?.name ?? "";
  hidden.clear(); ranges.clear(); selected.fill(0);
  for (const [at, ...codes] of words.getAll("h").map(list)) if (columns[at]?.kind === "category") hidden.set(columns[at], new Set(codes.map(Number)));
  for (const [at, ...ends] of words.getAll("r").map(list)) if (columns[at]?.kind === "number") ranges.set(columns[at], ends.map(Number));
  let last = 0;
  for (const step of list(words.get("s"))) { last += parseInt(step, 36); if (last < n) selected[last] = 1; }
  nSelected = selected.reduce((sum, one) => sum + one, 0);
  filter(); legend(); tellSelection();
  for (const name of Object.keys(layers)) if (!$(name).disabled) await setLayer(name, list(words.get("l")).includes(name));
  const graphNumber = Number(words.get("g") ?? -1);
  await choose(graphNumber < n ? graphNumber : -1);
}
$("link").addEventListener("click", () => {
  const text = linkText();
  try { history.replaceState(null, "", text); } catch { return; }  // a frame without an address of its own
  navigator.clipboard?.writeText(location.href).then(() => { $("word").textContent = "Link copied."; }, () => { $("word").textContent = "The link is in the address bar."; });
});
addEventListener("hashchange", restore);

$("count").textContent = n === 1 ? "1 graph" : `${n.toLocaleString("en")} graphs`;
$("about").append(...meta.about.map(text => element("p", text, {className: "small"})));
document.documentElement.dataset.theme = wish.matches ? "dark" : "light"; known.clear();
if (gl) startGL();
if (!gl && n > MOST_2D) $("word").textContent = `This browser has no WebGL: ${MOST_2D.toLocaleString("en")} of the points in view are drawn.`;
if (!n) $("word").textContent = "No graphs: an empty collection has an empty map.";
pointsCanvas.addEventListener("webglcontextlost", event => event.preventDefault());
pointsCanvas.addEventListener("webglcontextrestored", () => { startGL(); paint(); });
new ResizeObserver(resize).observe(stage);
resize(); legend(); paint(); await restore();
/* For tests. */
window.grnfMap = {view, ids, place: i => [sx(i), sy(i)], frames: () => frames, pan(dx, dy) { view.x += dx; view.y += dy; move(); },
  thin(on) { thinned = on; }, shownGraph: graph, selectedIds, labels: () => placedLabels(over.getContext("2d")), cliffs: () => cliffs, link: linkText, turned, webgl: Boolean(gl)};
document.documentElement.dataset.ready = "yes";
})();
