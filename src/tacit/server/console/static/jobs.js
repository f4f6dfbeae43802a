// The page Jobs: a form of the keys that a kind declares, its price while one types, and what was started.
import { debounced, element, find, get, moment, note, nothing, path, post, remove, sentence, toast, trouble } from "./api.js";
import { Field, byPlace } from "./curator_form.js";
import { priced } from "./money.js";
import { shown } from "./price.js";

const page = find(".jobs");
const { role, who } = page.dataset;
const button = find("#start");
const state = { dataset: null, schema: null, budget: null, kinds: [], kind: null, values: {}, fields: [], quoted: null, starting: false };
const OFTEN = 700; // ms between two looks at jobs that run
const SHOWN = 30; // jobs
const MANY = 40; // columns that are offered one by one
let asking = null; // the request for a quote that is under way

// --- settings: what is filled in and means something beside the rest

const keyNamed = (name) => state.kind.keys.find((each) => each.name === name);
const chosen = (name) => state.values[name] ?? keyNamed(name)?.default;
const means = (key) => Object.entries(key.only).every(([name, values]) => values.includes(chosen(name)));
const filled = (value) => value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && !value.length);

function settings() {
  const keys = state.kind.keys.filter((key) => means(key) && filled(state.values[key.name]));
  return Object.fromEntries(keys.map((key) => [key.name, state.values[key.name]]));
}

const missing = () => state.kind.keys.filter((key) => key.required && !filled(state.values[key.name])).map(spoken);
const spoken = (key) => key.name.replaceAll("_", " ");
const body = () => ({ kind: state.kind.kind, settings: settings() });
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function put(name, value) {
  const before = JSON.stringify(state.kind.keys.map(means));
  state.values[name] = value;
  if (keyNamed(name).suggests === "tables") draw();
  else if (JSON.stringify(state.kind.keys.map(means)) !== before) draw(name);
  changed();
}

// --- the form, from the keys alone

const tables = () => state.schema.tables.map((each) => each.name);
const columns = () => {
  const name = state.kind.keys.find((each) => each.suggests === "tables")?.name;
  const found = state.schema.tables.find((each) => each.name === state.values[name]);
  const units = [found?.unit_column].flat();
  return found ? found.columns.map((each) => each.name).filter((each) => !units.includes(each)) : [];
};

const written = (value) => (Array.isArray(value) ? value.join(", ") : value === null || value === undefined ? "" : String(value));
const asked = (key) => (key.shape === "list" ? { placeholder: written(key.default ?? key.example) } : { placeholder: written(key.default ?? "") });

function listOf(options, key) {
  const empty = key.required ? [] : [["", key.default ? `${key.default} (usual)` : "none"]];
  const current = written(state.values[key.name]);
  const first = key.required && !options.includes(current) ? [["", "choose"]] : empty;
  const list = element("select", { onchange: (event) => put(key.name, event.target.value) });
  for (const [value, words] of [...first, ...options.filter((each) => key.required || each !== key.default).map((each) => [each, each])]) {
    list.append(element("option", { value, selected: value === current }, words));
  }
  return list;
}

function namesOf(options, key) {
  const held = new Set(state.values[key.name] ?? []);
  const box = (name) => element("label", {}, element("input", {
    type: "checkbox", value: name, checked: held.has(name),
    onchange: (event) => {
      event.target.checked ? held.add(name) : held.delete(name);
      put(key.name, options.filter((each) => held.has(each)));
    },
  }), name);
  return element("div", { class: "names", role: "group", "aria-label": spoken(key), tabindex: "-1" }, options.map(box));
}

const typed = (text, key) => {
  if (key.shape !== "list") return text.trim();
  const parts = text.split(/[,\n]/).map((each) => each.trim()).filter(Boolean);
  return parts.map((each) => (typeof key.example[0] === "number" && /^\d+$/.test(each) ? Number(each) : each));
};

function inputOf(key) {
  if (key.suggests === "tables") return listOf(tables(), key);
  if (key.suggests === "columns" && key.shape === "list" && columns().length <= MANY) return namesOf(columns(), key);
  if (key.suggests === "columns" && key.shape !== "list") return listOf(columns(), key);
  if (key.options.length) return listOf(key.options, key);
  if (key.shape === "yes") return element("input", { type: "checkbox", checked: state.values[key.name] ?? key.default, onchange: (event) => put(key.name, event.target.checked) });
  const mode = key.shape === "number" ? "decimal" : "text";
  return element("input", { type: "text", inputmode: mode, autocomplete: "off", spellcheck: "false", value: written(state.values[key.name]), oninput: (event) => put(key.name, typed(event.target.value, key)), ...asked(key) });
}

function fieldOf(key) {
  const wide = key.suggests === "columns" && key.shape === "list";
  const name = spoken(key);
  return new Field(name.charAt(0).toUpperCase() + name.slice(1), inputOf(key), { hint: key.words.replaceAll("`", ""), place: [key.name], wide });
}

function draw(focused = null) {
  const first = (key) => key.shown || key.suggests || filled(state.values[key.name]) && !find("#more").open;
  const keys = state.kind.keys.filter(means);
  const made = keys.map((key) => [key, fieldOf(key)]);
  state.fields = made.map(([, field]) => field);
  find("#form").replaceChildren(...made.filter(([key]) => first(key)).map(([, field]) => field.box));
  const rest = made.filter(([key]) => !first(key));
  find("#form-more").replaceChildren(...rest.map(([, field]) => field.box));
  find("#more").hidden = !rest.length;
  made.find(([key]) => key.name === focused)?.[1].input.focus();
}

// --- the price, while typing

const price = debounced(() => quote(), 350);

function blame(problems) {
  const told = byPlace(problems.map((each) => ({ place: each.path, text: each.short || each.text })));
  for (const field of state.fields) field.say(told.get(field.place) ?? [], []);
  if (state.fields.some((field) => told.has(field.place) && find("#more").contains(field.box))) find("#more").open = true;
  return problems.filter((each) => !state.fields.some((field) => field.place === JSON.stringify(each.path)));
}

function changed() {
  remember();
  state.quoted = null;
  asking?.abort();
  blame([]);
  const wanting = missing();
  if (wanting.length) {
    find("#quote").replaceChildren(element("p", { class: "soft" }, `Still to fill in: ${wanting.join(", ")}.`));
    find("#quote").classList.remove("stale");
  } else {
    if (!find("#quote").firstChild?.classList.contains("quoted")) find("#quote").replaceChildren(element("p", { class: "soft" }, "Working out the noise and the price…"));
    find("#quote").classList.add("stale");
    price();
  }
  ready();
}

async function quote() {
  if (!state.dataset || missing().length) return;
  asking?.abort();
  const request = (asking = new AbortController());
  const wanted = body();
  try {
    const found = await post(path`/v1/datasets/${state.dataset}/jobs/quote`, wanted, { signal: request.signal });
    if (!same(wanted, body())) return;
    state.quoted = { body: wanted, quote: found };
    const wish = role === "analyst" ? `/requests?dataset=${encodeURIComponent(state.dataset)}` : null;
    const told = shown(found, state.budget, { before: found.answered, wish });
    find("#quote").replaceChildren(...told.parts);
    find("#quote-said").textContent = told.said;
  } catch (problem) {
    if (problem.name === "AbortError" || !same(wanted, body())) return;
    const others = blame(problem.problems);
    const unplaced = !problem.problems.length || others.length;
    find("#quote").replaceChildren(unplaced ? trouble(problem) : element("p", { class: "soft" }, "Something is to be mended in the settings."));
    find("#quote-said").textContent = `${problem.title}: ${problem.message}`;
  } finally {
    if (asking === request) {
      asking = null;
      find("#quote").classList.remove("stale");
    }
    ready();
  }
}

function ready() {
  const found = state.quoted?.quote;
  button.setAttribute("aria-disabled", String(!found || state.starting));
  if (state.starting) button.textContent = "Starting…";
  else if (!found) button.textContent = asking ? "Looking up the price…" : "Start";
  else if (found.answered) button.textContent = "Show again · free";
  else button.textContent = found.enough ? `Start for ${priced(found.cost)}` : "Start · over budget";
}

// --- starting, and what was started

const KEPT = `tacit-jobs-${who}`;
function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}
/** What a key stands for, so that a job that was stopped can go on: it is under the same charge. */
function keep(key, dataset, wanted) {
  try {
    const entries = Object.entries({ ...kept(), [key]: { dataset, body: wanted } });
    localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(entries.slice(-50))));
  } catch {
    // then it can be started again by the same settings
  }
}

button.addEventListener("click", () => {
  if (!state.quoted) toast("There is no price yet");
  else if (!state.starting) begin(state.dataset, state.quoted.body, state.quoted.quote.idempotency_key);
});

async function begin(dataset, wanted, key) {
  state.starting = true;
  ready();
  find("#said").replaceChildren();
  try {
    const headers = key ? { "Idempotency-Key": key } : {};
    const job = await post(path`/v1/datasets/${dataset}/jobs`, wanted, { headers });
    keep(job.idempotency_key, dataset, wanted);
    await list();
    find(".made").scrollIntoView({ block: "nearest", behavior: "smooth" });
  } catch (problem) {
    find("#said").replaceChildren(trouble(problem));
  } finally {
    state.starting = false;
    ready();
  }
}

const STATES = { queued: ["", "waits"], running: ["accent", "runs"], done: ["good", "done"], failed: ["bad", "failed"], cancelled: ["warn", "stopped"], lost: ["bad", "lost"] };
const open = (job) => job.state === "queued" || job.state === "running";
let looking = null;

async function list() {
  clearTimeout(looking);
  const { items } = await get("/v1/jobs");
  const jobs = items.filter((each) => each.title);
  const later = new Set(); // keys of jobs that are newer: they are the same job, which went on
  for (const each of jobs) {
    each.older = later.has(each.idempotency_key);
    later.add(each.idempotency_key);
  }
  const before = find("#list").dataset.open;
  await Promise.all(jobs.slice(0, SHOWN).map((each) => each.release).filter((each) => each && !forms.has(each)).map(formsOf));
  find("#list").replaceChildren(jobs.length ? element("ul", { class: "started" }, jobs.slice(0, SHOWN).map(row)) : element("p", { class: "empty" }, "None yet. What you start is shown here, with how far it is, and its file."));
  const running = String(jobs.filter(open).length);
  find("#list").dataset.open = running;
  if (before !== undefined && before !== running) {
    await standing();
    if (state.quoted) await quote();
  }
  if (jobs.some(open)) looking = setTimeout(() => list().catch(() => (looking = setTimeout(() => list().catch(() => {}), 5000))), OFTEN);
}

/** The other forms that releases have, by the address of each: they stay as they are. */
const forms = new Map();
const reading = new Set(); // releases whose page is shown below them

async function formsOf(release) {
  try {
    forms.set(release, (await get(`${release}/forms`)).items);
  } catch {
    // it has none then, until the next look
  }
}

function other(job, form) {
  const address = `${job.release}/forms/${form.name}`;
  if (form.media !== "text/html") return element("a", { class: "button small", href: address, download: "" }, form.title);
  return element("button", {
    type: "button", class: "small", "aria-expanded": String(reading.has(job.release)), "aria-label": `${form.title} of ${job.title}`,
    onclick: () => {
      reading.has(job.release) ? reading.delete(job.release) : reading.add(job.release);
      list().catch(fail);
    },
  }, form.title);
}

/** The page of a release, in a frame in which nothing runs. The frame is kept, or it would load again at each look. */
const frames = new Map();
function framed(job) {
  const form = (forms.get(job.release) ?? []).find((each) => each.media === "text/html");
  if (!form || !reading.has(job.release)) return null;
  if (!frames.has(job.release)) frames.set(job.release, element("iframe", { class: "page", src: `${job.release}/forms/${form.name}`, title: `${form.title} of ${job.title}` }));
  return frames.get(job.release);
}

function row(job) {
  const [kind, words] = STATES[job.state];
  const again = keptOf(job);
  const actions = [
    open(job) ? element("button", { type: "button", class: "small", "aria-label": `Stop ${job.title}`, onclick: () => stop(job) }, "Stop") : null,
    again && !job.older && !open(job) && job.state !== "done" ? element("button", { type: "button", class: "small", "aria-label": `Go on with ${job.title}`, onclick: () => begin(again.dataset, again.body, job.idempotency_key) }, "Go on") : null,
    job.release ? element("a", { class: "button small primary", href: `${job.release}/file`, download: "" }, "Download") : null,
    ...(forms.get(job.release) ?? []).map((form) => other(job, form)),
    job.release ? element("a", { class: "button small", href: `${job.release}/certificate`, target: "_blank" }, "Certificate") : null,
  ];
  return element("li", {},
    element("div", {}, element("b", {}, job.title), " ", element("span", { class: `badge ${kind}` }, words), element("div", { class: "soft small" }, `${job.dataset} · ${moment(job.created)}`)),
    element("div", { class: "row" }, actions),
    open(job) ? far(job) : null,
    framed(job),
    job.state === "failed" && job.problem ? note("bad", `${job.problem.title}.`, sentence(job.problem.detail)) : null,
    ["cancelled", "lost"].includes(job.state) ? note("", job.state === "lost" ? "The worker that had it is gone." : "Stopped.", job.older ? "It went on above." : `What was charged stays charged. ${again ? "To go on" : "To start the same settings again"} pays nothing more.`) : null);
}

const keptOf = (job) => kept()[job.idempotency_key];

function far(job) {
  const bar = element("progress", { max: 1, "aria-label": `How far ${job.title} is` });
  if (job.progress !== undefined) bar.value = job.progress;
  const words = job.progress_words ?? (job.state === "queued" ? "waits for a free place" : "at work");
  return element("div", { class: "far" }, bar, element("span", { class: "soft small number" }, words));
}

async function stop(job) {
  try {
    await remove(path`/v1/jobs/${job.id}`);
    toast("Stopped. What was charged stays charged");
  } catch (problem) {
    toast(problem.message);
  }
  await list().catch(() => {});
}

// --- dataset and kind

async function standing() {
  if (!state.dataset) return;
  const found = await get(path`/v1/datasets/${state.dataset}/budget`);
  const mine = new Set([`analyst:${who}`, "dataset"]);
  found.holders.forEach((each) => (each.mine = mine.has(each.holder)));
  state.budget = found;
}

async function choose(dataset) {
  state.dataset = dataset;
  find("#dataset").value = dataset;
  state.schema = await get(path`/v1/datasets/${dataset}`);
  await standing();
  const table = state.kind.keys.find((each) => each.suggests === "tables");
  if (table && !tables().includes(state.values[table.name])) state.values[table.name] = tables()[0];
  draw();
  changed();
}

function kindOf(name) {
  state.kind = state.kinds.find((each) => each.kind === name) ?? state.kinds[0];
  state.values = remembered(state.kind.kind);
  for (const key of state.kind.keys) if (key.required && key.options.length && !filled(state.values[key.name])) state.values[key.name] = key.options[0];
  find("#form-title").textContent = state.kind.title;
  find("#about").textContent = state.kind.words;
}

const draftOf = (kind) => `tacit-job-draft-${who}-${kind}`;
function remember() {
  try {
    sessionStorage.setItem(draftOf(state.kind.kind), JSON.stringify(state.values));
  } catch {
    // then a reload begins anew
  }
}
function remembered(kind) {
  try {
    return JSON.parse(sessionStorage.getItem(draftOf(kind))) ?? {};
  } catch {
    return {};
  }
}

async function start() {
  const [{ items }, kinds] = await Promise.all([get("/v1/datasets"), get("/v1/job-kinds")]);
  if (!items.length) {
    page.replaceChildren(nothing("ask", role));
    return;
  }
  state.kinds = kinds.items;
  const names = items.map(({ name }) => name);
  find("#dataset").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  find("#datasets-row").hidden = false;
  find("#dataset").addEventListener("change", () => choose(find("#dataset").value).catch(fail));
  const wish = new URLSearchParams(location.search);
  kindOf(wish.get("kind"));
  const kindsRow = find("#kinds");
  kindsRow.hidden = state.kinds.length < 2;
  kindsRow.append(...state.kinds.map((each) => element("label", {}, element("input", { type: "radio", name: "kind", value: each.kind, checked: each === state.kind, onchange: () => { kindOf(each.kind); choose(state.dataset).catch(fail); } }), each.title)));
  await choose(names.includes(wish.get("dataset")) ? wish.get("dataset") : names[0]);
  await list();
}

function fail(problem) {
  find("#quote").replaceChildren(trouble(problem));
}

start().catch(fail);
