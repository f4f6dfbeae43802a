// One answer: a table with its error bars, a chart, warnings, and ways to take it along.
import { copy, element, get, moment, path, put, sentence, spelled, toast } from "./api.js";
import { colour, picture } from "./chart.js";
import { priced } from "./money.js";

const ROWS = 200; // of a table that are shown
const FORMS = { CSV: "text/csv", JSON: "application/json", Arrow: "application/vnd.apache.arrow.stream" };

/** Fill `place` with a release. `paid` says whether it was paid for just now (true), free (false), or is an old one. */
export function showAnswer(place, release, { paid, currency, offer, dataset, who, wire }) {
  const cost = priced(release.facts.cost, currency);
  const badge =
    paid === true
      ? element("span", { class: "badge accent" }, `paid ${cost}`)
      : element("span", { class: "badge good" }, paid === false ? "free: paid for before" : `paid ${cost} then`);
  const chart = element("div", { class: "chart" });
  const tabular = element("div", {}, tableOf(release));
  const unfold = element("button", { type: "button", class: "small", onclick: () => place.classList.remove("outdated") }, "Show it");
  place.classList.remove("outdated");
  place.replaceChildren(
    element("div", { id: "answer-old", class: "note row apart", hidden: true },
      element("p", {}, element("strong", {}, "This answers an earlier question."), " The one above was changed since."), unfold),
    element("div", { class: "answer-head" }, element("h2", { id: "answer-title" }, "Answer"), badge, when(release)),
    ...(release.notes.length ? [notes(release.notes)] : []),
    release.rows.length ? element("div", { class: "halves answer" }, tabular, chart) : element("p", { class: "empty" }, "No group is shown."),
    takeAlong(release, { offer, dataset, who, wire }),
    element("details", {}, element("summary", {}, "The question"), element("pre", { class: "asked-sql" }, release.sql)),
  );
  place.hidden = false;
  if (release.rows.length && Object.keys(release.intervals).length) picture(chart, () => specification(chart, release.id));
  else chart.remove();
}

const when = (release) => {
  const time = Date.parse(release.facts.time) * 1000;
  return element("span", { class: "soft small" }, `${moment(time)} · entry ${release.facts.ledger.entry} of the ledger`);
};

const notes = (texts) =>
  element(
    "div",
    { class: "note warn" },
    element("p", {}, element("strong", {}, "What the error bars cover, and what not")),
    element("ul", {}, texts.map((text) => element("li", {}, sentence(text)))),
  );

/** Two significant digits of a margin, rounded up, and how many of them come after the point. */
export function raisedMargin(margin) {
  if (!(margin > 0)) return [0, 0];
  let places = 1 - Math.floor(Math.log10(margin));
  let scaled = Math.ceil(margin * 10 ** places * (1 - 1e-9));
  if (scaled === 100) [scaled, places] = [10, places - 1]; // 99.6 becomes 100
  return [scaled / 10 ** places, Math.max(0, Math.min(12, places))];
}

/** What a cell shows: a noisy number with its interval, and "noise" where that covers the noise alone. */
function cell(release, name, value, row) {
  if (value === null) return element("td", { class: name in release.intervals ? "right" : null }, "–");
  if (!(name in release.intervals) || typeof value !== "number") {
    return element("td", {}, Array.isArray(value) ? JSON.stringify(value) : String(value));
  }
  const [low, high] = release.intervals[name].map((ends) => ends[row]);
  if (low === null || high === null) return element("td", { class: "right" }, spelled(value, 6));
  const [below, above] = [value - low, high - value];
  // a value that was rounded to a whole number is not quite in the middle, and its noise is as large as before
  const margin = Number.isInteger(value) && Math.abs(below - above) <= 1 ? (below + above) / 2 : Math.max(below, above);
  // digits far below the noise say nothing; the download has all of them
  const [size, places] = raisedMargin(margin);
  const plain = (number, least) => number.toLocaleString("en-GB", { minimumFractionDigits: least, maximumFractionDigits: places });
  const whole = Number.isInteger(value);
  const noise = plain(size, whole && Number.isInteger(size) ? 0 : places);
  return element("td", { class: "right" }, plain(value, whole ? 0 : places), " ", element("span", { class: "margin" }, `± ${noise}${release.coverage?.[name]?.of === "truth" ? "" : " noise"}`));
}

function tableOf(release) {
  const head = release.columns.map((name) =>
    element("th", { scope: "col", class: name in release.intervals ? "right" : null }, name),
  );
  const body = release.rows
    .slice(0, ROWS)
    .map((row, i) => element("tr", {}, row.map((value, j) => cell(release, release.columns[j], value, i))));
  const table = element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answer as a table" },
    element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)),
  );
  const rest = release.rows.length - ROWS;
  const sure = `Each ± holds with ${Math.round(release.confidence * 100)} % probability.`;
  const more = rest > 0 ? ` ${spelled(rest)} more rows are in the download.` : "";
  return [table, element("p", { class: "soft small" }, sure + more)];
}

function specification(place, id) {
  const width = Math.max(260, Math.min(900, Math.floor(place.clientWidth) - 8));
  const look = new URLSearchParams({ width, accent: colour("accent"), ink: colour("ink") });
  return get(path`/v1/releases/${id}/chart` + `?${look}`);
}

// --- taking it along

function takeAlong(release, { offer, dataset, who, wire }) {
  const downloads = Object.entries(FORMS).map(([name, form]) =>
    element("button", { type: "button", class: "small", onclick: () => download(release.id, dataset, name, form) }, name),
  );
  const python = asPython(release.sql, offer, dataset);
  const psql = wire ? asPsql(release.sql, offer, dataset, who, wire) : null;
  return element(
    "div",
    { class: "row" },
    element("span", { class: "label" }, "Download"),
    downloads,
    element("button", { type: "button", class: "small", onclick: () => copy(python, "Copied as Python") }, "Copy as Python"),
    psql && element("button", { type: "button", class: "small", onclick: () => copy(psql, "Copied for psql") }, "Copy as psql"),
    element("a", { class: "button small", href: path`/v1/releases/${release.id}/certificate`, target: "_blank" }, "Certificate"),
    release.owner === who && sharing(release),
  );
}

function sharing(release) {
  const box = element("input", { type: "checkbox", checked: release.shared });
  box.addEventListener("change", async () => {
    try {
      await put(path`/v1/releases/${release.id}/sharing`, { shared: box.checked });
      toast(box.checked ? "Shared with everybody who may ask these tables" : "Shared no more");
    } catch (problem) {
      box.checked = !box.checked;
      toast(problem.message);
    }
  });
  return element("label", { class: "small", title: "Show it to everybody who may ask the tables it was made from" }, box, "Share");
}

async function download(id, dataset, name, form) {
  try {
    const answer = await fetch(path`/v1/releases/${id}`, { headers: { Accept: form }, credentials: "same-origin" });
    if (!answer.ok) throw new Error("the service did not give the file: try again");
    const url = URL.createObjectURL(await answer.blob());
    const ending = name === "Arrow" ? "arrows" : name.toLowerCase();
    element("a", { href: url, download: `${dataset}-${id.slice(0, 8)}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  } catch (problem) {
    toast(problem.message);
  }
}

/** `{ epsilon: "0.5", confidence }` as `["epsilon", "0.5"]`. */
const wish = (offer) => Object.entries(offer).find(([name]) => name !== "confidence");

export function asPython(sql, offer, dataset) {
  const [name, value] = wish(offer);
  const sure = offer.confidence === "0.95" ? "" : `, confidence=${offer.confidence}`;
  return [
    "import os",
    "",
    "import tacit",
    "",
    `desk = tacit.connect(${JSON.stringify(location.origin)}, os.environ["TACIT_TOKEN"], dataset=${JSON.stringify(dataset)})`,
    `answer = desk.ask(${JSON.stringify(sql)}, ${name}=${value}${sure})`,
    "print(answer)",
    "",
  ].join("\n");
}

/** A command that can be pasted whoever wrote the question: each part is one argument of psql, and nothing else. */
export function asPsql(sql, offer, dataset, who, wire) {
  const [name, value] = wish(offer);
  const place = wire.lastIndexOf(":");
  const host = wire.slice(0, place).replace(/^\[|\]$/g, "");
  const plain = (text) => text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, " "); // a terminal obeys the others
  const shell = (text) => (/^[\w.:-]+$/.test(text) ? text : `'${plain(text).replaceAll("'", "'\\''")}'`);
  const orders = [`SET tacit.${name} = ${value}`, `SET tacit.confidence = ${offer.confidence}`, "SET tacit.intervals = on", sql.trim()];
  const door = `PGPASSWORD="$TACIT_TOKEN" psql -h ${shell(host)} -p ${shell(wire.slice(place + 1))} -U ${shell(who)} -d ${shell(dataset)}`;
  return `${[door, ...orders.map((order) => `  -c ${shell(order)}`)].join(" \\\n")}\n`;
}
