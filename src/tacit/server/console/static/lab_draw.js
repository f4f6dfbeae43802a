// Drawings of the lab: small SVG pictures out of numbers, redrawn at every move of a slider.
import { shape } from "./api.js";

const round = (value) => Math.round(value * 100) / 100;

/** As wide as there is room, so that letters keep their size. */
const wide = (place) => Math.max(280, Math.min(760, place.clientWidth || 620));

/** A frame with axes: where numbers are on the paper. `x` and `y` are [low, high]. */
class Frame {
  constructor(place, { title, width = wide(place), height = 400, left = 58, bottom = 46, top = 14, right = 26, x, y }) {
    this.box = { left, top, right: width - right, bottom: height - bottom };
    this.x = x;
    this.y = y;
    this.svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    place.replaceChildren(this.svg);
  }
  across(value) {
    const [low, high] = this.x;
    return round(this.box.left + ((value - low) / (high - low)) * (this.box.right - this.box.left));
  }
  up(value) {
    const [low, high] = this.y;
    return round(this.box.bottom - ((value - low) / (high - low)) * (this.box.bottom - this.box.top));
  }
  add(tag, attributes, ...children) {
    const made = shape(tag, attributes, ...children);
    this.svg.append(made);
    return made;
  }
  axes({ across, up, names }) {
    for (const [value, text] of up) {
      this.add("line", { class: "grid", x1: this.box.left, x2: this.box.right, y1: this.up(value), y2: this.up(value) });
      this.add("text", { x: this.box.left - 8, y: this.up(value) + 4, "text-anchor": "end" }, text);
    }
    for (const [value, text] of across) {
      this.add("text", { x: this.across(value), y: this.box.bottom + 18, "text-anchor": "middle" }, text);
    }
    this.add("line", { class: "axis", x1: this.box.left, x2: this.box.right, y1: this.box.bottom, y2: this.box.bottom });
    const middle = (this.box.left + this.box.right) / 2;
    this.add("text", { class: "name", x: middle, y: this.box.bottom + 38, "text-anchor": "middle" }, names[0]);
    const height = (this.box.top + this.box.bottom) / 2;
    const turned = { class: "name", "text-anchor": "middle", transform: `translate(14 ${height}) rotate(-90)` };
    this.add("text", turned, names[1]);
  }
  path(points) {
    return points.map(([x, y], i) => `${i ? "L" : "M"}${this.across(x)} ${this.up(y)}`).join("");
  }
  line(points, kind) {
    this.add("path", { class: kind, d: this.path(points) });
  }
  area(points, kind, base = this.y[0]) {
    const [first, last] = [points[0], points.at(-1)];
    const d = `${this.path([[first[0], base], ...points, [last[0], base]])}Z`;
    this.add("path", { class: kind, d });
  }
  bar(x, width, y, kind) {
    const [low, high] = [this.up(Math.max(y, 0)), this.up(Math.min(y, 0))];
    const size = { x: round(this.across(x) - width / 2), width: round(width), y: low, height: Math.max(0, round(high - low)) };
    return this.add("rect", { class: kind, ...size });
  }
}

const percent = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, `${share * 100} %`]);

/** False alarms against misses. */
export function drawTradeoff(place, found) {
  const frame = new Frame(place, { title: "Misses against false alarms", height: Math.min(440, wide(place) * 0.85), x: [0, 1], y: [0, 1] });
  frame.axes({ across: percent, up: percent, names: ["false alarms", "misses"] });
  const curves = found.curves.map((curve) => curve.alarms.map((alarm, i) => [alarm, curve.misses[i]]));
  frame.area(curves[0], "below");
  frame.line([[0, 1], [1, 0]], "guess");
  const equal = curves[0].reduce((best, point) => (Math.abs(point[0] - point[1]) < Math.abs(best[0] - best[1]) ? point : best))[0];
  if (frame.across(equal) - frame.box.left > 125) frame.add("text", { x: frame.box.left + 12, y: frame.up(equal / 2) }, "no test gets here");
  if (curves[1]) frame.line(curves[1], "two");
  frame.line(curves[0], "one");
  for (const { false_positives: alarms, at_most: most } of found.meaning.membership_power) {
    frame.add("circle", { class: "dot", cx: frame.across(alarms), cy: frame.up(1 - most), r: 4.5 });
  }
}

/** Two laws, and below them the log of their ratio beside the claim. */
export function drawDensities(place, found) {
  const count = found.outputs.length;
  const at = found.ordered ? found.outputs : found.outputs.map((_, i) => i);
  const pad = found.ordered && count > 1 ? (at.at(-1) - at[0]) / (count - 1) : 1;
  const x = [Math.min(...at) - pad, Math.max(...at) + pad];
  const most = Math.max(...found.left, ...found.right) * 1.08;
  const top = new Frame(place, { title: "How likely each answer is", height: 290, x, y: [0, most] });
  const ticks = found.ordered ? spread(at, 8).map((value) => [value, String(round(value))]) : [];
  const shares = [0, 0.5, 1].map((part) => [most * part, `${(most * part * 100).toPrecision(2)} %`]);
  top.axes({ across: ticks, up: shares, names: [found.ordered ? "answer" : "answers, the likeliest first", "chance"] });
  const many = found.ordered && count > 60;
  const width = ((top.box.right - top.box.left) / (count + 1)) * 0.4;
  for (const [values, kind, side] of [[found.left, "one", -1], [found.right, "two", 1]]) {
    const points = values.map((chance, i) => [at[i], chance]);
    if (many) {
      top.area(points, `area-${kind}`);
      top.line(points, kind);
    } else {
      const shift = ((side * width) / 2 / (top.box.right - top.box.left)) * (x[1] - x[0]);
      points.forEach(([value, chance], i) => {
        top.bar(value + shift, width, chance, `bar-${kind}`).append(shape("title", {}, `${found.outputs[i]}: ${chance}`));
      });
    }
  }
  const below = document.createElement("div");
  place.append(below);
  const claim = found.claim.epsilon;
  const seen = found.ratio.filter((value) => value !== null).map(Math.abs);
  const reach = Math.max(0.1, claim ?? 0, ...seen) * 1.15;
  const strip = new Frame(below, { title: "How much likelier, as a logarithm", height: 150, bottom: 20, x, y: [-reach, reach] });
  const limits = claim === null ? [] : [[claim, `+${claim.toPrecision(3)}`], [-claim, `−${claim.toPrecision(3)}`]];
  strip.axes({ across: [], up: [[0, "0"], ...limits], names: ["", "ln of the ratio"] });
  found.ratio.forEach((value, i) => value !== null && strip.bar(at[i], Math.max(1.5, width * 1.4), value, "ratio"));
  for (const [value] of limits) {
    strip.add("line", { class: "limit", x1: strip.box.left, x2: strip.box.right, y1: strip.up(value), y2: strip.up(value) });
  }
}

/** At most `most` of the values: round ones, zero among them if it is there. */
function spread(values, most) {
  const reach = (values.at(-1) - values[0]) / most;
  const power = Math.pow(10, Math.floor(Math.log10(reach || 1)));
  const step = [1, 2, 5, 10].map((size) => size * power).find((size) => size >= reach) ?? 1;
  const first = Math.ceil(values[0] / step);
  const found = [];
  for (let n = first; n * step <= values.at(-1); n++) found.push(n * step);
  return found;
}
