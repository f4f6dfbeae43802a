// The page Markets: open one, seal a report, close and run it, and see what is public and what is one's own.
import { element, find, get, path, post, put, remove, sentence, shape, spelled, toast } from "./api.js";
import { Field, attempt, byPlace, confirmed, lines, select, table, text } from "./curator_form.js";
import { priced } from "./money.js";

const WORDS = { price: "One price for all", choose: "One option for all", match: "Who gets which good", game: "Who takes which route" };
const STATES = { open: ["accent", "takes reports"], closed: ["warn", "closed"], done: ["good", "done"] };
const OFTEN = 800; // ms between two looks at a market that runs
const place = (market) => path`/v1/markets/${market.dataset}/${market.name}`;

async function load() {
  const { items } = await get("/v1/markets");
  const none = element("p", { class: "empty" }, "None that you opened or are invited to.");
  find("#list").replaceChildren(...(items.length ? await Promise.all(items.map(card)) : [none]));
}

async function card(market) {
  const [kind, words] = STATES[market.state];
  const said = element("div", { "aria-live": "polite" });
  const closes = market.closes && market.state === "open" ? `until ${new Date(market.closes).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}` : null;
  const facts = [["for", `${market.agents} agents, of ${market.dataset}`], ["private", market.promise], ["truth", sentence(market.truth)], closes && ["open", closes]];
  return element("article", { class: "card stack market", "data-market": market.name },
    element("div", { class: "row apart" }, element("h2", {}, market.name), element("span", {}, element("span", { class: "soft" }, `${WORDS[market.rule]} `), element("span", { class: `badge ${kind}` }, words))),
    element("dl", { class: "facts" }, facts.filter(Boolean).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    market.invited ? await own(market, said) : null,
    market.outcome ? outcome(market) : null,
    said,
    market.yours ? owner(market, said) : null);
}

// --- what is for oneself alone

async function own(market, said) {
  const box = element("section", { class: "sealed", "aria-label": `Yours in ${market.name}` });
  if (market.state === "done") {
    const advice = await get(`${place(market)}/advice`);
    box.append(element("p", { class: "soft small" }, "For you alone"), element("p", { class: "yours" }, told(market, advice)));
  } else if (market.reported) box.append(element("p", {}, "Your report is sealed. ", element("span", { class: "soft" }, "Nobody sees it; what it leads to is shown here when the market has run.")));
  else if (market.state === "open") box.append(report(market, said));
  else box.append(element("p", { class: "soft" }, "It is closed, and you reported nothing."));
  return box;
}

function told(market, advice) {
  if (market.rule === "price") return advice.buys ? `You buy, at ${money(advice.price)}.` : `You do not buy: the price is ${money(advice.price)}.`;
  if (advice.name === null) return market.rule === "match" ? "You get nothing this time." : "You stay at home.";
  return { choose: `Use ${advice.name}.`, match: `You get ${advice.name}, at ${spelled(advice.price)}.`, game: `Take ${advice.name}.` }[market.rule];
}

function money(fraction) {
  const [above, below = "1"] = String(fraction).split("/");
  return (Number(above) / Number(below)).toFixed(2);
}

function report(market, said) {
  const things = market.about.length ? market.about : ["Bid"];
  const inputs = things.map((name) => new Field(name, element("input", { type: "number", min: "0", step: "any", required: true, inputmode: "decimal", autocomplete: "off" })));
  return element("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const values = inputs.map(({ input }) => Number(input.value));
      if (await attempt(said, () => put(`${place(market)}/report`, { report: market.about.length ? values : values[0] }), "Sealed")) load();
    },
  }, element("p", {}, sentence(market.report.description)),
  element("div", { class: "things" }, inputs.map((field) => field.box)),
  element("div", { class: "row" }, element("button", { class: "primary" }, "Seal my report"), element("span", { class: "soft small" }, "Once. Nobody reads it.")));
}

// --- what everybody may see

function outcome(market) {
  const found = market.outcome;
  if (market.rule === "price") return element("p", { class: "yours" }, `The price is ${money(found.price)}.`);
  if (market.rule === "choose") return element("p", { class: "yours" }, `Chosen: ${found.options.map((each) => market.about[each]).join(", ")}.`);
  const share = (value) => `${Math.round(100 * value)} %`;
  const rows = market.about.map((name, i) => market.rule === "match"
    ? [name, spelled(found.prices[i]), String(found.copies[i]), `${found.demand[i]} (noisy)`, share(found.chances[i])]
    : [name, share(found.shares[i])]);
  const heads = market.rule === "match" ? ["good", "price", "copies", "asked for", "chance to get it"] : ["route", "traffic, about"];
  const series = (what, of = (value) => value) => market.about.map((_, i) => found.rounds.map((round) => of(round[what][i])));
  const plots = market.rule === "match"
    ? [plot("Price in each round", series("prices")), plot("Asked for in each round, with noise; dashed: the copies less the reserve", series("demand"), found.copies.map((copies) => copies - found.reserve))]
    : [plot("Share of the traffic in each round", series("shares")), plot("Best for so many in each round, with noise", series("demand"))];
  return element("section", { class: "stack" }, table(heads, rows, ""), element("div", { class: "plots" }, plots), legend(market.about));
}

const WIDE = 420, HIGH = 190, LEFT = 46, LOW = 24, COLOURS = 5;

function plot(title, series, limits = []) {
  const every = [...series.flat(), ...limits];
  const [least, most] = [Math.min(0, ...every), Math.max(...every, 1e-9)];
  const x = (i, of) => LEFT + ((WIDE - LEFT - 8) * i) / Math.max(of - 1, 1);
  const y = (value) => 8 + ((HIGH - LOW - 8) * (most - value)) / (most - least || 1);
  const label = (value) => shape("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, spelled(value, 3));
  const drawn = series.map((values, i) => shape("polyline", { class: `line s${i % COLOURS}`, points: values.map((value, at) => `${x(at, values.length)},${y(value)}`).join(" ") }));
  const dashed = limits.map((value, i) => shape("line", { class: `limit s${i % COLOURS}`, x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value) }));
  const axis = [least, most].map((value) => shape("line", { class: "axis", x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value) }));
  const ends = [shape("text", { x: LEFT, y: HIGH - 6 }, "1"), shape("text", { x: WIDE - 8, y: HIGH - 6, "text-anchor": "end" }, `round ${series[0]?.length ?? 0}`)];
  return element("figure", {}, element("figcaption", { class: "small" }, title),
    shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": title }, ...axis, label(least), label(most), ...dashed, ...drawn, ...ends));
}

const legend = (names) => element("div", { class: "legend" }, names.map((name, i) =>
  element("span", {}, shape("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" }, shape("line", { class: `line s${i % COLOURS}`, x1: 0, x2: 24, y1: 5, y2: 5 })), name)));

// --- whoever opened it

function owner(market, said) {
  const run = element("button", { type: "button", class: "primary", onclick: () => attempt(said, () => start(market)) }, "Close and run");
  const drop = element("button", { type: "button", class: "danger", onclick: async () => {
    const words = element("p", {}, "All sealed reports on it are deleted, and nobody can fetch their advice any more. What was charged stays charged.");
    if (await confirmed(`Forget ${market.name}?`, words, "Forget it", "danger") && await attempt(said, () => remove(place(market)), "Forgotten")) load();
  } }, "Forget it");
  return element("div", { class: "row" }, market.state === "done" ? null : run, drop);
}

async function start(market) {
  const wanted = { kind: "market", settings: { market: market.name } };
  const quote = await post(path`/v1/datasets/${market.dataset}/jobs/quote`, wanted);
  const words = element("p", {}, `It costs ${priced(quote.cost)}, charged to ${market.dataset}. No report is taken after.`);
  if (!await confirmed(`Run ${market.name}?`, words, quote.enough ? "Close and run" : "Over budget: try")) return;
  let job = await post(path`/v1/datasets/${market.dataset}/jobs`, wanted, { headers: { "Idempotency-Key": quote.idempotency_key } });
  while (job.state === "queued" || job.state === "running") {
    await new Promise((done) => setTimeout(done, OFTEN));
    job = await get(path`/v1/jobs/${job.id}`);
  }
  if (job.problem) throw Object.assign(new Error(job.problem.detail), { title: job.problem.title, problems: [] });
  toast("It has run");
  await load();
}

// --- a new one

const draft = { name: "", agents: [], dataset: "", values: {} };
let keys = [];

const means = (key) => Object.entries(key.only).every(([name, values]) => values.includes(draft.values[name]));
const plain = (key, value) => (key.shape === "number" && /^\d+$/.test(value) ? Number(value) : value);

async function form(datasets) {
  const box = find("#form");
  const schema = await get(path`/v1/datasets/${draft.dataset}`);
  const tables = schema.tables.map((each) => each.name);
  if (!tables.includes(draft.values.table)) draft.values.table = tables[0];
  const put = (key) => (value) => { draft.values[key.name] = Array.isArray(value) ? value : plain(key, value); };
  const input = (key) => {
    const value = draft.values[key.name];
    const hint = String(key.default ?? key.example ?? "");
    if (key.name === "rule") return select(key.options.map((each) => [each, WORDS[each]]), value, (chosen) => { draft.values.rule = chosen; form(datasets); });
    if (key.suggests === "tables") return select(tables.map((each) => [each, each]), value, put(key));
    if (key.shape === "list") return lines(value ?? [], put(key), { rows: "3", placeholder: (key.example ?? []).join("\n") });
    return text(value ?? "", put(key), { placeholder: hint });
  };
  const first = [
    new Field("Dataset", select(datasets.map((each) => [each, each]), draft.dataset, (chosen) => { draft.dataset = chosen; form(datasets); })),
    new Field("Name", text(draft.name, (value) => { draft.name = value; })),
    new Field("Agents", lines(draft.agents, (value) => { draft.agents = value; }), { hint: "The names that their tokens are for, one in each line." }),
  ];
  const fields = keys.filter(means).map((key) => new Field(key.name.charAt(0).toUpperCase() + key.name.slice(1), input(key), { hint: key.words, place: [key.name] }));
  form.fields = fields;
  box.replaceChildren(...[...first, ...fields].map((field) => field.box));
}

find("#open")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const rules = Object.fromEntries(keys.filter(means).map((key) => [key.name, draft.values[key.name]]).filter(([, value]) => value !== undefined && value !== "" && value?.length !== 0));
  const done = await attempt(find("#refused"), () => post(path`/v1/datasets/${draft.dataset}/markets`, { name: draft.name, agents: draft.agents, rules }).catch((problem) => {
    const said = byPlace((problem.problems ?? []).map((each) => ({ place: each.path, text: each.short || each.text })));
    for (const field of form.fields) field.say(said.get(field.place) ?? [], []);
    throw problem;
  }), "Open for reports");
  if (!done) return;
  find("#new").open = false;
  load();
});

async function begin() {
  await load();
  if (!find("#new")) return;
  const [{ items }, found] = await Promise.all([get("/v1/datasets"), get("/v1/market-rules")]);
  find("#new").hidden = !items.length;
  if (!items.length) return;
  keys = found.keys;
  draft.values = { rule: "match" };
  draft.dataset = items[0].name;
  await form(items.map((each) => each.name));
}

begin().catch((problem) => find("#list").replaceChildren(element("div", { class: "note bad" }, sentence(problem.message))));
