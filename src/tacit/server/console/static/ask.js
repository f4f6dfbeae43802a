// The page Ask: the parts put together. A price is always that of the question in the editor, or the button waits.
import { Problem, debounced, element, find, freshKey, get, moment, nothing, path, post, remove, sentence, toast, trouble } from "./api.js";
import { showAnswer } from "./answer.js";
import { warm } from "./chart.js";
import { dressed } from "./editor.js";
import { priced } from "./money.js";
import { Spend, shown } from "./price.js";
import { examples, schemaList } from "./schema.js";

const page = find(".ask");
const { role, who, wire } = page.dataset;
const button = find("#ask");
const state = { answered: null, dataset: null, schema: null, budget: null, quoted: null, running: false, stopping: false, releases: [], next: null };

const editor = dressed(find("#sql"), () => changed());
const spend = new Spend(() => changed());

// --- the price, while typing

const wanted = () => {
  const offer = spend.offer();
  const sql = editor.text();
  return offer && sql.trim() ? { sql, ...offer } : null;
};
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
let asking = null; // the request for a quote that is under way
const price = debounced(() => quote(), 250);

/** An answer stays on the page when its question is changed, folded, and says that it is an older one's. */
function outdated() {
  const { answered } = state;
  if (!answered) return;
  const old = answered.dataset !== state.dataset || answered.sql.trim() !== editor.text().trim();
  find("#answer").classList.toggle("outdated", old);
  find("#answer-old").hidden = !old;
}

function changed() {
  remember();
  outdated();
  state.quoted = null;
  asking?.abort();
  ready();
  find("#examples").hidden = Boolean(editor.text().trim()) || !state.schema;
  if (wanted()) {
    find("#quote").classList.add("stale");
    price();
  } else {
    const hint = editor.text().trim() ? "Say how much to spend, as a number above 0." : "Write a question to see its price.";
    find("#quote").replaceChildren(element("p", { class: "soft" }, hint));
    if (spend.mode === "reach") spend.quiet();
  }
}

/** How the question was understood, for whoever opens it. */
function understood(dataset, sql) {
  const list = element("div", {}, element("p", { class: "soft" }, "Looking…"));
  const box = element("details", { class: "small understood" }, element("summary", {}, "How it is understood"), list);
  const look = async () => {
    if (!box.open) return;
    try {
      const found = await post(path`/v1/datasets/${dataset}/explain`, { sql });
      const parts = Object.entries(found.titles).map(([kind, title]) => [
        element("p", { class: "label" }, title[0].toUpperCase() + title.slice(1)),
        element("ul", { class: "remarks" }, found.findings.filter((each) => each.kind === kind).map((each) => element("li", {}, each.words))),
      ]);
      list.replaceChildren(...parts.flat());
    } catch (problem) {
      list.replaceChildren(trouble(problem));
    }
  };
  box.addEventListener("toggle", look);
  return box;
}

async function quote() {
  const body = wanted();
  if (!body || !state.dataset) return;
  asking?.abort();
  const request = (asking = new AbortController());
  try {
    const found = await post(path`/v1/datasets/${state.dataset}/quote`, body, { signal: request.signal });
    if (!same(body, wanted())) return;
    state.quoted = { body, quote: found };
    const told = shown(found, state.budget, {
      before: paidFor(body, found),
      wish: role === "analyst" ? `/requests?dataset=${encodeURIComponent(state.dataset)}` : null,
    });
    find("#quote").replaceChildren(...told.parts, understood(state.dataset, body.sql));
    find("#quote-said").textContent = told.said;
    spend.say({ ...found.cost });
  } catch (problem) {
    if (problem.name === "AbortError" || !same(body, wanted())) return;
    find("#quote").replaceChildren(trouble(problem));
    if (problem.kind === "refused" || problem.kind === "mistake") editor.blame(problem.message);
    if (spend.mode === "reach") spend.quiet();
    find("#quote-said").textContent = `${problem.title}: ${problem.message}`;
  } finally {
    if (asking === request) asking = null;
    ready();
  }
}

/** Whether asking is free: the answer is in the store, or was given here under the key that the question keeps. */
const paidFor = (body, quote) => quote.answered || Boolean(keptKey(body)?.done && !quote.versioned);

function ready() {
  const found = state.quoted?.quote;
  button.setAttribute("aria-disabled", String(!found || state.running));
  if (!found) button.textContent = asking ? "Looking up the price…" : "Ask";
  else if (paidFor(state.quoted.body, found)) button.textContent = "Ask again · free";
  else button.textContent = found.enough ? `Ask for ${priced(found.cost)}` : "Ask · over budget";
}

// --- asking

button.addEventListener("click", ask);
find("#sql").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    ask();
  }
});

async function ask() {
  if (state.running) return;
  if (!state.quoted) {
    toast("There is no price yet");
    return;
  }
  const { body, quote: offered } = state.quoted;
  const dataset = state.dataset;
  const kept = keptKey(body);
  const again = kept && !(kept.done && offered.versioned); // once it was answered, changed data make it a new question
  const key = again ? kept.key : (offered.idempotency_key ?? freshKey());
  keepKey(body, key, Boolean(again && kept.done)); // before it is sent: it may be charged, and no word of that come back
  state.running = true;
  state.stopping = false;
  ready();
  wait("Asking…");
  find("#running").hidden = false;
  try {
    const before = await get(path`/v1/datasets/${dataset}/budget`);
    const job = await post(path`/v1/datasets/${dataset}/ask`, body, { headers: { Prefer: "respond-async", "Idempotency-Key": key } });
    const done = await finished(job);
    if (done === null) return;
    const release = await get(done.release);
    keepKey(body, key, true);
    const { sql, ...offer } = body;
    const paid = release.facts.ledger.entry > before.seq;
    const currency = state.schema.privacy.currency;
    showAnswer(find("#answer"), { ...release, sql }, { paid, currency, offer, dataset, who, wire });
    state.answered = { sql, dataset };
    outdated();
    const words = `${release.rows.length} ${release.rows.length === 1 ? "row" : "rows"}`;
    find("#answer-said").textContent = `Answered: ${words}, ${paid ? `paid ${priced(release.facts.cost, currency)}` : "free"}.`;
    find("#answer").scrollIntoView({ block: "nearest", behavior: "smooth" });
  } catch (problem) {
    fail(problem);
  } finally {
    state.running = false;
    find("#running").hidden = true;
    await Promise.allSettled([standing(), list()]);
    if (state.quoted) await quote();
    ready();
  }
}

function fail(problem) {
  state.answered = null;
  find("#answer").classList.remove("outdated");
  find("#answer").replaceChildren(element("h2", { id: "answer-title" }, "No answer"), trouble(problem));
  find("#answer").hidden = false;
  find("#answer-said").textContent = `${problem.title}: ${problem.message}`;
}

function wait(words, progress) {
  find("#running-words").textContent = words;
  if (progress === undefined) find("#progress").removeAttribute("value");
  else find("#progress").value = progress;
}

find("#cancel").addEventListener("click", () => {
  state.stopping = true; // perhaps before there is a job to stop: it is stopped as soon as there is
  state.wake?.();
  wait("Stopping…");
});

/** The job when it is done; null if it was cancelled. */
async function finished(job) {
  let told = false;
  for (let pause = 40; ; pause = Math.min(1000, pause * 1.5)) {
    if (state.stopping && !told) {
      told = true;
      await remove(path`/v1/jobs/${job.id}`);
    }
    const now = await get(path`/v1/jobs/${job.id}`);
    if (now.state === "done") return now;
    if (now.state === "failed") throw new Problem(now.problem, now.problem.status);
    if (now.state === "cancelled") {
      toast(`Stopped. What was charged stays. Asked again as it is, it is not paid for twice (key ${job.idempotency_key}).`);
      return null;
    }
    if (now.state === "lost") {
      const detail = `ask it again as it is: the worker that had it is gone, and under its key ${job.idempotency_key} it is not paid for twice`;
      throw new Problem({ title: "The question was lost", detail }, 503);
    }
    if (!state.stopping) {
      const share = now.progress;
      wait(share === undefined ? "Asking…" : `Asking… ${Math.round(share * 100)} %`, share);
    }
    await new Promise((resolve) => {
      state.wake = resolve;
      setTimeout(resolve, pause);
    });
  }
}

// --- what was answered before

const currencies = new Map(); // by dataset: a cost is known in several, and only one of them was paid in
async function currencyOfDataset(dataset) {
  if (!currencies.has(dataset)) {
    const found = await get(path`/v1/datasets/${dataset}`).catch(() => null); // no longer theirs, perhaps
    currencies.set(dataset, found?.privacy.currency);
  }
  return currencies.get(dataset);
}

async function list(more = false) {
  const cursor = more && state.next ? `&cursor=${encodeURIComponent(state.next)}` : "";
  const found = await get(`/v1/releases?limit=20${cursor}`);
  const tables = found.items.filter((each) => each.kind === "table"); // other releases are on the page Jobs
  state.releases = more ? [...state.releases, ...tables] : tables;
  state.next = found.next;
  const names = new Set(state.releases.map((each) => each.dataset));
  await Promise.all([...names].map(currencyOfDataset));
  const several = names.size > 1;
  const items = state.releases.map((each) =>
    element(
      "li",
      {},
      element("button", { type: "button", class: "link", title: each.sql, onclick: () => open(each.id) }, each.sql.replaceAll(/\s+/g, " ")),
      element("span", { class: "badge" }, priced(each.cost, currencies.get(each.dataset))),
      element("span", { class: "soft" }, `${moment(Date.parse(each.time) * 1000)}${several ? ` · ${each.dataset}` : ""}`),
    ),
  );
  find("#earlier").replaceChildren(
    items.length ? element("ul", { class: "earlier" }, items) : element("p", { class: "soft" }, "None yet. To look at one again is free."),
    state.next ? element("button", { type: "button", class: "small", onclick: () => list(true) }, "Show more") : "",
  );
}

/** An old answer again, with its question in the editor. */
async function open(id) {
  try {
    const release = await get(path`/v1/releases/${id}`);
    const dataset = release.facts.dataset;
    if (dataset !== state.dataset && [...find("#dataset").options].some((each) => each.value === dataset)) await choose(dataset);
    const currency = (await currencyOfDataset(dataset)) ?? state.schema.privacy.currency;
    const amount = release.facts.cost[currency];
    if (dataset === state.dataset) {
      editor.write(release.sql);
      spend.set(amount);
    }
    const offer = { [currency]: amount, confidence: String(release.confidence) };
    showAnswer(find("#answer"), release, { paid: null, currency, offer, dataset, who, wire });
    state.answered = { sql: release.sql, dataset };
    outdated();
    find("#answer").focus({ preventScroll: true });
    find("#answer").scrollIntoView({ block: "nearest", behavior: "smooth" });
  } catch (problem) {
    fail(problem);
  }
}

// --- the dataset

async function standing() {
  const found = await get(path`/v1/datasets/${state.dataset}/budget`);
  const mine = new Set([`analyst:${who}`, "dataset"]);
  found.holders.forEach((each) => (each.mine = mine.has(each.holder)));
  state.budget = found;
}

async function choose(dataset) {
  state.dataset = dataset;
  find("#dataset").value = dataset;
  state.schema = await get(path`/v1/datasets/${dataset}`);
  currencies.set(dataset, state.schema.privacy.currency);
  const { unit } = state.schema.privacy;
  find("#about-data").textContent = `${sentence(state.schema.people)} What is protected: one ${unit}.`;
  if (matchMedia("(max-width: 760px)").matches) find(".schema details").open = false;
  find("#schema").replaceChildren(...schemaList(state.schema, (name) => editor.insert(name)));
  const tries = examples(state.schema).map(({ words, sql }) =>
    element("li", {}, element("button", { type: "button", class: "small", onclick: () => begin(sql) }, words)),
  );
  find("#examples ul").replaceChildren(...tries);
  spend.open(dataset, state.schema.privacy);
  await standing();
  changed();
}

function begin(sql) {
  editor.write(sql);
  find("#sql").focus();
}

const DRAFT = `tacit-draft-${who}`;
function remember() {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ dataset: state.dataset, sql: editor.text() }));
  } catch {
    // then a reload begins anew
  }
}
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFT)) ?? {};
  } catch {
    return {};
  }
}

// A question keeps its key until it is changed: asked again, it is the same question, and not paid for twice.
const KEY = `tacit-key-${who}`;
function keepKey(body, key, done) {
  state.kept = { dataset: state.dataset, body, key, done };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(state.kept));
  } catch {
    // then a reload asks under another key
  }
}
function keptKey(body) {
  if (state.kept === undefined) {
    try {
      state.kept = JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      state.kept = null;
    }
  }
  const { kept } = state;
  return kept && kept.dataset === state.dataset && same(kept.body, body) ? kept : null;
}

async function start() {
  const { items } = await get("/v1/datasets");
  const wish = new URLSearchParams(location.search);
  const draft = remembered();
  if (!items.length) {
    page.replaceChildren(nothing("ask", role));
    return;
  }
  find("#dataset").replaceChildren(...items.map(({ name }) => element("option", { value: name }, name)));
  find("#datasets-row").hidden = false;
  const names = items.map(({ name }) => name);
  await choose([wish.get("dataset"), draft.dataset].find((name) => names.includes(name)) ?? names[0]);
  if (draft.sql) editor.write(draft.sql);
  find("#dataset").addEventListener("change", () => choose(find("#dataset").value).catch(fail));
  find("#clear").addEventListener("click", () => begin(""));
  await list();
  if (wish.get("release")) await open(wish.get("release"));
}

start().catch(fail).finally(warm);
