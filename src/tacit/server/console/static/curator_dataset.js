// One dataset: its limits, who may ask, its ledger, and what was changed.

import { element, find, get, moment, note, path, post, put, remove, spelled, trouble } from "./api.js";
import { colour, picture } from "./chart.js";
import { attempt, confirmed, listed, table } from "./curator_form.js";

// on a phone the parts are folded: the page is then short, and each is one touch away
if (matchMedia("(max-width: 760px)").matches) for (const part of document.querySelectorAll("details.fold")) part.open = false;

const whole = find("#dataset");
const name = whole.dataset.dataset;
const governs = Boolean(whole.dataset.governs);
const PAGE = 25;
let policy = null;
let standing = null;
let newest = 0;
let top = null; // the newest entry on the page that is shown

async function load() {
  try {
    [policy, standing] = await Promise.all([get(path`/v1/datasets/${name}/policy`), get(path`/v1/datasets/${name}/budget`)]);
  } catch (problem) {
    whole.replaceChildren(trouble(problem));
    return;
  }
  find("#people").textContent = policy.people;
  differences();
  limits();
  analysts();
  find("#file").hidden = policy.toml === null;
  find("#toml").textContent = policy.toml ?? "";
  changes();
}

const spent = (holder) => standing.holders.find((each) => each.holder === holder)?.spent[policy.currency] ?? "0";

function differences() {
  const place = find("#differences");
  place.replaceChildren();
  if (!policy.differences.length) return;
  const box = note("warn", "The policy and the ledger say different things; the smaller limit binds.");
  box.append(listed(policy.differences));
  if (governs) {
    box.append(element("button", { type: "button", class: "small", onclick: () => attempt(place, async () => {
      await post(path`/v1/datasets/${name}/apply`);
      await load();
    }, "Recorded") }, "Record what the policy says"));
  }
  place.append(box);
}

function limits() {
  const facts = {
    budget: `${policy.budget} ${policy.currency}, of which ${spelled(spent("dataset"))} is spent`,
    "one question": policy.each === null ? "no limit of its own" : `at most ${policy.each}`,
    protects: `one ${policy.unit}, with δ = ${policy.delta}`,
    ...(policy.reset ? { "fresh budget": `every ${policy.reset}${policy.lifetime ? `, until ${policy.lifetime} in all` : ""}` } : {}),
    means: policy.promise.sentence,
  };
  const shown = element("dl", { class: "facts" }, Object.entries(facts).flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
  const said = element("div", { "aria-live": "polite" });
  const parts = [shown];
  if (governs) {
    const budget = element("input", { id: "budget", value: policy.budget, inputmode: "decimal", autocomplete: "off" });
    const each = element("input", { id: "each", value: policy.each ?? "", inputmode: "decimal", autocomplete: "off" });
    const form = element("form", { class: "row wide narrowed", onsubmit: (event) => {
      event.preventDefault();
      change(said, path`/v1/datasets/${name}/limits`, { budget: budget.value, each: each.value || null });
    } },
      element("div", { class: "field" }, element("label", { for: "budget" }, "Budget"), budget),
      element("div", { class: "field" }, element("label", { for: "each" }, "Most for one question"), each),
      element("button", {}, "Change"));
    parts.push(element("details", {}, element("summary", {}, "Change the limits"), form), said);
  }
  find("#limits").replaceChildren(...parts);
}

/** First what would change, then a question, then the change itself. */
async function change(said, place, body) {
  await attempt(said, async () => {
    const { changes: told } = await put(place, { ...body, preview: true });
    if (!told.length) {
      said.replaceChildren(note("", "Nothing would change."));
      return;
    }
    const words = element("div", {}, listed(told), element("p", { class: "soft" }, "It is written to the policy and recorded in the ledger."));
    if (!(await confirmed("Change this?", words, "Change it"))) return;
    await put(place, body);
    await load();
  });
}

function analysts() {
  const place = find("#analysts");
  const said = element("div", { "aria-live": "polite" });
  const rows = policy.analysts.map((analyst) => {
    const who = analyst.name === "*" ? "anybody else" : analyst.name;
    const cells = [
      element("b", {}, who),
      analyst.limit === null ? "the dataset's budget" : `${analyst.limit}`,
      analyst.name === "*" ? "each their own" : spelled(spent(`analyst:${analyst.name}`)),
      analyst.each ?? "–",
      analyst.tables === null ? "all" : analyst.tables.join(", ") || "none",
    ];
    if (governs) {
      cells.push(element("div", { class: "row" },
        element("button", { type: "button", class: "small", "aria-label": `Change ${who}`, onclick: () => edit(analyst) }, "Change"),
        element("button", { type: "button", class: "small danger", "aria-label": `Remove ${who}`, onclick: () => gone(said, analyst.name) }, "Remove")));
    }
    return cells;
  });
  const heads = ["Name", `May spend (${policy.currency})`, "Spent", "One question", "Tables", ...(governs ? [""] : [])];
  place.replaceChildren(table(heads, rows, "Nobody may ask this dataset yet."), said, ...(governs ? [editor(said)] : []));
}

async function gone(said, analyst) {
  const words = element("p", {}, "They can ask no more from now on. What they spent stays spent.");
  if (!(await confirmed(`Remove ${analyst}?`, words, "Remove", "danger"))) return;
  await attempt(said, async () => {
    await remove(path`/v1/datasets/${name}/analysts/${analyst}`);
    await load();
  }, "Removed");
}

function editor(said) {
  const input = (id, more = {}) => element("input", { id, autocomplete: "off", ...more });
  const fields = { name: input("analyst", { required: true }), limit: input("limit", { inputmode: "decimal" }), each: input("most", { inputmode: "decimal" }) };
  const boxes = policy.tables.map((each) => element("label", {}, element("input", { type: "checkbox", value: each, checked: true }), each));
  const labelled = (key, label) => element("div", { class: "field" }, element("label", { for: fields[key].id }, label), fields[key]);
  const form = element("form", { class: "stack tight", onsubmit: (event) => {
    event.preventDefault();
    const chosen = boxes.map((box) => box.firstChild).filter((box) => box.checked).map((box) => box.value);
    const body = { limit: fields.limit.value || null, each: fields.each.value || null, tables: chosen.length === boxes.length ? null : chosen };
    change(said, path`/v1/datasets/${name}/analysts/${fields.name.value.trim()}`, body);
  } },
    element("div", { class: "grid" }, labelled("name", "Name"), labelled("limit", `May spend in all (${policy.currency})`), labelled("each", "Most for one question")),
    boxes.length > 1 ? element("div", { class: "checks", role: "group", "aria-label": "Tables" }, element("span", { class: "label" }, "Tables"), boxes) : null,
    element("div", { class: "row" }, element("button", { class: "primary" }, "Look at the change")));
  return element("details", { id: "editor" }, element("summary", {}, "Let somebody ask"), form);
}

function edit(analyst) {
  const place = find("#editor");
  place.open = true;
  place.querySelector("#analyst").value = analyst.name;
  place.querySelector("#limit").value = analyst.limit ?? "";
  place.querySelector("#most").value = analyst.each ?? "";
  for (const box of place.querySelectorAll('[type="checkbox"]')) box.checked = analyst.tables === null || analyst.tables.includes(box.value);
  place.querySelector("#limit").focus();
}

// --- the ledger

const KINDS = {
  open: (body) => `account of “${body.people}” opened`,
  limit: (body) => (body.holder === "window" ? "reset window or lifetime limit" : `limit of ${body.holder === "dataset" ? "everybody together" : body.holder.replace(/^(analyst|group):/, "")}: ${money(body.total ?? body)}`),
  charge: (body) => `${body.analyst} paid ${money(body)}`,
  begin: (body) => `the program of entry ${body.charge} began`,
  void: (body) => `entry ${body.charge} taken back`,
  reset: () => "a new window",
  seal: (body) => `sealed: ${body.why ?? ""}`,
  adopt: (body) => `an older copy was taken into use: ${body.why ?? ""}`,
  rename: (body) => `now called “${body.to ?? body.people ?? ""}”`,
};

function money(body) {
  if (body?.spend === undefined) return "";
  const scale = policy.currency === "epsilon" ? 1e12 : 1e18;
  const delta = Number(body.delta ?? 0) / 1e30;
  return `${spelled(Number(body.spend) / scale)} ${policy.currency}${delta ? ` and δ ${delta.toExponential(1)}` : ""}`;
}

async function entries(until = null) {
  const place = find("#entries");
  try {
    if (until === null) newest = (await get(path`/v1/datasets/${name}/ledger?limit=1`)).head.seq;
    top = until ?? newest;
    const after = Math.max(0, top - PAGE);
    const { items } = await get(`${path`/v1/datasets/${name}/ledger`}?after=${after}&limit=${Math.max(1, top - after)}`);
    await ready; // the policy says in which currency amounts are
    const rows = items.filter((entry) => entry.seq <= top).reverse().map((entry) => {
      const body = JSON.parse(entry.body);
      const whole = element("details", { class: "entry-body" }, element("summary", {}, entry.digest.slice(0, 12)), element("pre", {}, JSON.stringify(body, null, 2)));
      return [String(entry.seq), moment(entry.time), (KINDS[entry.kind] ?? (() => entry.kind))(body), whole];
    });
    place.replaceChildren(table(["Entry", "When", "What", "Hash"], rows, "Nothing yet."));
    find("#older").hidden = after === 0;
    find("#newer").hidden = top >= newest;
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

find("#older").addEventListener("click", () => entries(top - PAGE));
find("#newer").addEventListener("click", () => entries(Math.min(newest, top + PAGE)));

const RESULTS = {
  whole: (last) => note("good", "Whole.", `All ${spelled(last.entries)} entries of this ledger, every hash and every balance, were checked ${when(last)}.`),
  damaged: (last) => {
    const box = note("bad", "Damaged.", `Found ${when(last)}:`);
    box.append(listed(last.findings.map((found) => `${found.people}${found.seq ? `, entry ${found.seq}` : ""}: ${found.what}`)));
    return box;
  },
  failed: (last) => note("bad", "It could not be verified", `${when(last)}. Run \`tacit ledger verify\` where the service runs.`),
  lost: () => note("warn", "The last verification did not end.", "Start it again."),
  running: (last) => element("div", { class: "stack tight" }, element("p", {}, "Verifying …"), element("progress", { max: Math.max(1, last.total), value: last.entries, "aria-label": "Entries read" })),
};
const when = (last) => `${moment(last.ended)}, by ${last.who}`;

async function verification() {
  const place = find("#verification");
  try {
    const { last } = await get(path`/v1/datasets/${name}/verification`);
    place.replaceChildren(last === null ? note("", "It was never verified here.") : RESULTS[last.state](last));
    find("#verify").disabled = last?.state === "running";
    if (last?.state === "running") setTimeout(verification, 700);
  } catch (problem) {
    place.replaceChildren(trouble(problem));
    if (problem.status === 0 || problem.status >= 500) setTimeout(verification, 3000); // it may be there again
  }
}

find("#verify").addEventListener("click", () => attempt(find("#verification"), async () => {
  find("#verify").disabled = true;
  try {
    await post(path`/v1/datasets/${name}/verification`);
  } finally {
    find("#verify").disabled = false;
  }
  await verification();
}));

async function running() {
  const place = find("#running");
  if (place === null) return;
  try {
    const { items } = await get(path`/v1/datasets/${name}/running`);
    const rows = items.map((each) => [moment(each.since), each.owner, element("code", {}, each.sql), stopping(place, `Stop the question of ${each.owner}`, path`/v1/datasets/${name}/running/${each.id}`)]);
    const { items: jobs } = await get(path`/v1/datasets/${name}/saved-jobs`);
    const told = jobs.map((job) => [job.name, job.analyst, share(job), moment(job.saved), job.running ? stopping(place, `Stop the job ${job.name}`, path`/v1/datasets/${name}/saved-jobs/${job.entry}`) : "stopped"]);
    place.replaceChildren(table(["Since", "Who", "Question", ""], rows, "No question runs."));
    if (jobs.length) place.append(table(["Job", "Who", "Done", "Saved", ""], told));
    for (const job of jobs) if (job.chart) watched(job, place);
    setTimeout(running, items.length || jobs.length ? 2000 : 10000);
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

const streams = new Map(); // by entry: where a stream is drawn, and the tick that was drawn last

/** The live chart of a stream: its noisy counts, and where the truth is in 95 %. */
function watched(job, place) {
  const seen = streams.get(job.entry) ?? { box: element("figure", { class: "stream" }), drawn: null };
  streams.set(job.entry, seen);
  seen.job = job;
  place.append(seen.box);
  const [tick, count, margin] = job.chart.ticks.at(-1);
  if (seen.drawn === tick) return;
  seen.drawn = tick;
  const near = (number) => number.toLocaleString("en", { maximumSignificantDigits: 3 });
  const words = `${job.name}, tick ${spelled(tick)}: ${count.toLocaleString("en", { maximumFractionDigits: 1 })} ± ${near(margin)}. A binary tree of the same price has ± ${near(job.chart.tree_margin)} or more (dashed). Noise only.`;
  if (seen.chart) {
    seen.said.textContent = words;
    seen.again?.();
    return;
  }
  seen.chart = element("div", { class: "chart" });
  seen.said = element("figcaption", { class: "soft" }, words);
  seen.box.replaceChildren(seen.chart, seen.said);
  picture(seen.chart, () => drawn(seen.job, seen.chart)).then((again) => { seen.again = again; });
}

function drawn(job, place) {
  const tree = job.chart.tree_margin;
  const values = job.chart.ticks.map(([tick, count, margin]) => ({ tick, count, low: count - margin, high: count + margin, less: count - tree, more: count + tree }));
  const x = { field: "tick", type: "quantitative", title: "tick", axis: { tickMinStep: 1, grid: false } };
  const y = (field) => ({ field, type: "quantitative", title: "events so far", scale: { zero: false } });
  const own = `#${colour("accent")}`;
  const dashed = (field) => ({ mark: { type: "line", strokeDash: [4, 4], color: `#${colour("soft")}` }, encoding: { x, y: y(field) } });
  return {
    description: `The noisy running count of ${job.name}, with its margin`,
    width: Math.min(900, place.clientWidth - 70),
    height: 240,
    data: { values },
    layer: [
      dashed("less"),
      dashed("more"),
      { mark: { type: "area", opacity: 0.3, color: own }, encoding: { x, y: y("low"), y2: { field: "high" } } },
      { mark: { type: "line", color: own, point: values.length < 40 ? { color: own } : false }, encoding: { x, y: y("count") } },
    ],
  };
}

const share = (job) => job.done === null ? "–" : element("div", { class: "row" }, element("progress", { max: 1, value: job.done, "aria-label": `How far ${job.name} is` }), `${Math.round(100 * job.done)}\u00a0%`);

const stopping = (place, label, route) => element("button", { type: "button", class: "small", "aria-label": label, onclick: () => attempt(place, async () => {
  await remove(route);
  await changes();
}, "Stopped") }, "Stop");

async function changes() {
  const { items } = await get(path`/v1/datasets/${name}/changes`);
  const rows = items.map((line) => [moment(line.time), line.who, line.what]);
  find("#changes").replaceChildren(table(["When", "Who", "What"], rows, "Nothing was changed through the service."));
}

const ready = load();
entries();
running();
verification();
