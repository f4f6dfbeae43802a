// The page Budget: gauges of every limit that the reader may see, what was spent when, and how far it reaches.
import { bars, element, find, get, moment, note, nothing, path, sentence, spelled, trouble } from "./api.js";
import { colour, picture } from "./chart.js";
import { SYMBOL, exact, figure, priced, share, times } from "./money.js";

const page = find("#datasets");
const { who } = page.dataset;
const everybody = Boolean(page.dataset.everybody);

async function start() {
  const { items } = await get("/v1/datasets");
  const cards = items.map(() => element("section", { class: "card purse" }));
  page.removeAttribute("aria-live"); // what follows is much: it is read when one comes to it
  if (!items.length) {
    page.replaceChildren(nothing("know of", page.dataset.role));
    return;
  }
  page.replaceChildren(...cards);
  await Promise.all(items.map(({ name }, i) => fill(cards[i], name).catch((problem) => cards[i].replaceChildren(element("h2", {}, name), trouble(problem)))));
}

async function fill(card, dataset) {
  const [budget, history] = await Promise.all([
    get(path`/v1/datasets/${dataset}/budget`),
    get(path`/v1/datasets/${dataset}/history`),
  ]);
  const chart = element("div", { class: "chart" });
  const links = [];
  if (page.dataset.role === "analyst") {
    links.push(element("a", { class: "button quiet small", href: `/requests?dataset=${encodeURIComponent(dataset)}` }, "Wish for more"));
  }
  if (page.dataset.asks) {
    links.push(element("a", { class: "button small", href: `/ask?dataset=${encodeURIComponent(dataset)}` }, "Ask this dataset"));
  }
  card.replaceChildren(
    element("div", { class: "head" }, element("div", {}, element("h2", {}, dataset), element("p", { class: "soft" }, sentence(budget.people))), element("div", { class: "row" }, links)),
    budget.sealed ? note("bad", "Sealed.", "A curator closed this account for good: nothing can be asked any more.") : "",
    element("div", { class: "gauges" }, sorted(budget.holders).map((holder) => gauge(holder, budget))),
    element("div", {}, element("h3", {}, everybody ? "What was spent, and when" : "What you spent, and when"), chart, table(history)),
  );
  if (history.items.length) await picture(chart, () => specification(history, Math.min(1100, chart.clientWidth)));
  else chart.remove();
}

/** One's own first, then the dataset, groups, and the others by name. */
function sorted(holders) {
  const rank = ({ holder }) => (holder === `analyst:${who}` ? 0 : holder === "dataset" ? 1 : holder.startsWith("group:") ? 2 : 3);
  return holders.toSorted((a, b) => rank(a) - rank(b) || a.holder.localeCompare(b.holder));
}

function called(holder) {
  if (holder === `analyst:${who}`) return "You";
  if (holder === "dataset") return "Everybody together";
  const [kind, ...name] = holder.split(":");
  return kind === "group" ? `The group ${name.join(":")}` : name.join(":");
}

function gauge(each, budget) {
  const currency = budget.currency;
  const used = share(each.spent[currency], each.limit[currency]);
  const kind = used >= 0.999 ? "bad" : used >= 0.8 ? "warn" : "";
  const name = called(each.holder);
  const words = `${figure(each.spent[currency])} of ${figure(each.limit[currency])} ${currency} spent, ${figure(each.left[currency])} left`;
  const window = budget.window_end ? `in this window, which ends ${moment(budget.window_end)}` : "";
  const own = each.holder === `analyst:${who}`;
  return element(
    "div",
    { class: `gauge${own ? " own" : ""}`, "data-holder": each.holder },
    element("h3", {}, name),
    element("p", { class: "figures" }, element("span", {}, element("b", {}, priced(each.left, currency)), " left"), element("span", { class: "soft" }, `of ${priced(each.limit, currency)}`)),
    meter(`${name}: ${budget.people}`, each.spent[currency], each.limit[currency], words, kind),
    element("p", { class: "soft small" }, [`${priced(each.spent, currency)} spent`, window].filter(Boolean).join(" ")),
    lifetime(each, budget),
    delta(each),
    like(each, currency),
  );
}

/** A gauge that says its value to those who do not see it. */
function meter(label, value, most, words, kind) {
  return element(
    "div",
    { class: `meter ${kind}`, role: "meter", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": most, "aria-valuenow": value, "aria-valuetext": words },
    bars(["spent", 0, share(value, most)]),
  );
}

/** What was spent since the account was opened, beside the window, where the two differ. */
function lifetime(each, budget) {
  const currency = budget.currency;
  const ever = each.spent_ever[currency];
  const limit = each.holder === "dataset" ? budget.lifetime_limit : null;
  if (limit) {
    const words = `${figure(ever)} of ${figure(limit[currency])} ${currency} spent in its whole life`;
    return element(
      "div",
      {},
      element("p", { class: "soft small" }, `In its whole life: ${figure(ever)} of ${priced(limit, currency)}`),
      meter("Everybody together, in its whole life", ever, limit[currency], words, "lifetime"),
    );
  }
  if (!budget.window_end && exact(ever) === exact(each.spent[currency])) return null;
  return element("p", { class: "soft small" }, `${priced(each.spent_ever, currency)} since the account was opened`);
}

function delta(each) {
  if (!Number(each.spent.delta)) return null;
  return element("p", { class: "soft small" }, `δ ${figure(each.spent.delta)} of ${figure(each.limit.delta)} spent`);
}

function like(each, currency) {
  if (!each.last) return null;
  const more = times(each.left, each.last);
  const cost = priced(each.last, currency);
  if (!Number.isFinite(more)) return null;
  const text = more >= 1 ? `About ${spelled(more)} more like the last one, which cost ${cost}` : `No room for another like the last one, which cost ${cost}`;
  return element("p", { class: "small" }, `${text}.`);
}

// --- what was spent when

function table(history) {
  if (!history.items.length) return element("p", { class: "soft" }, "Nothing yet.");
  const currency = history.currency;
  const rows = history.items.toReversed().slice(0, 100).map((each) =>
    element(
      "tr",
      {},
      element("td", {}, moment(each.time)),
      everybody ? element("td", {}, each.analyst) : null,
      element("td", { class: "right" }, priced(each.spent, currency)),
      element("td", { class: "right" }, String(each.seq)),
    ),
  );
  const heads = ["When", everybody ? "Who" : null, "Spent", "Entry"].filter(Boolean);
  const head = heads.map((name) => element("th", { scope: "col", class: ["Spent", "Entry"].includes(name) ? "right" : null }, name));
  const older = history.whole && history.items.length <= 100 ? "" : "Older ones are in the ledger.";
  return element(
    "details",
    {},
    element("summary", {}, "As a table"),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What was spent" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))),
    element("p", { class: "soft small" }, older),
  );
}

const WINDOW = 20 * 60 * 1000; // milliseconds, the least that a history shows

function specification(history, width) {
  const totals = new Map();
  const values = [];
  for (const each of history.items) {
    const total = (totals.get(each.analyst) ?? 0) + Number(each.spent[history.currency]);
    totals.set(each.analyst, total);
    values.push({ time: each.time / 1000, who: each.analyst, total });
  }
  const now = Date.now();
  for (const [name, total] of totals) values.push({ time: Math.max(now, values.at(-1).time), who: name, total });
  const first = history.items[0];
  const began = Math.min(first.time / 1000, now - WINDOW); // a minute's history would have an axis of seconds
  for (const name of totals.keys()) {
    values.push({ time: began - 1, who: name, total: 0 }, { time: first.time / 1000 - 1, who: name, total: 0 });
  }
  const several = totals.size > 1;
  return {
    description: `What was spent over time, up to ${[...totals].map(([name, total]) => `${name} ${spelled(total)}`).join(", ")} ${history.currency}`,
    width: Math.max(180, width - 80),
    height: 180,
    data: { values },
    mark: { type: "line", interpolate: "step-after", strokeWidth: 2.5 },
    encoding: {
      x: { field: "time", type: "temporal", title: null, axis: { labelOverlap: true, tickMinStep: 60000, tickCount: Math.max(3, Math.floor(width / 140)) } },
      y: { field: "total", type: "quantitative", title: `spent (${SYMBOL[history.currency]})`, scale: { domainMin: 0 } },
      color: several ? { field: "who", type: "nominal", title: null, legend: { orient: "top", labelLimit: 160 } } : { value: `#${colour("accent")}` },
    },
  };
}

start()
  .catch((problem) => page.replaceChildren(trouble(problem)))
  .finally(() => page.setAttribute("aria-busy", "false"));
