// A dataset step by step. Everything that is typed goes into one draft; the service says what is wrong with it, where.

import { debounced, element, find, get, note, post, trouble } from "./api.js";
import { columnFields } from "./curator_column.js";
import { Field, attempt, byPlace, listed, select, text } from "./curator_form.js";
import { atMost } from "./money.js";

const STEPS = { source: "Data", columns: "Columns", promise: "Promise", analysts: "Analysts", review: "Review" };

const form = find("#declare");
const draft = { source: null, name: "", people: "", unit: "person", currency: "rho", budget: "0.1", delta: "1e-6", each: "", population: "", reset: "", lifetime: "", tables: [], analysts: [] };
const fields = { source: [], columns: [], promise: [], analysts: [], review: [] };
let step = "source";
let last = null;
const seen = new Set(["source"]);

// --- what is sent: nothing that is empty

function sent() {
  const filled = (value) => value !== "" && value !== null && !(Array.isArray(value) && !value.length);
  const trimmed = (given) => Object.fromEntries(Object.entries(given).filter(([, value]) => filled(value)));
  const column = ({ used, native, askable, ...rest }) => trimmed(rest);
  const table = ({ used, columns, ...rest }) => ({ ...trimmed(rest), columns: columns.filter((one) => one.used).map(column) });
  return {
    ...trimmed(draft),
    tables: draft.tables.filter((one) => one.used).map(table),
    analysts: draft.analysts.map(trimmed).filter((analyst) => Object.keys(analyst).length),
  };
}

const stepOf = (place) => ({ tables: "columns", dataset: "promise", privacy: "promise", analysts: "analysts" })[place[0]] ?? "review";

const check = debounced(async () => {
  if (!draft.source) return;
  const body = sent();
  body.analysts.forEach((analyst) => (analyst.name ??= ""));
  try {
    last = await post("/v1/policies/check", body);
  } catch (problem) {
    find("#said").replaceChildren(trouble(problem));
    return;
  }
  find("#said").replaceChildren();
  tell();
}, 250);

function tell() {
  const [problems, blanks] = [byPlace(last.problems), byPlace(last.blanks)];
  for (const field of Object.values(fields).flat()) field.say(problems.get(field.place) ?? [], blanks.get(field.place) ?? []);
  meaning();
  steps();
  if (step === "review") review();
}

function meaning() {
  const place = find("#meaning");
  place.replaceChildren();
  if (!last?.promise) {
    place.append(element("p", { class: "soft" }, "What the budget means is said here once it is complete."));
    return;
  }
  const { epsilon, delta, sentence, strength } = last.promise;
  place.append(
    element("p", {}, sentence),
    element("p", { class: "soft small" }, `Spent in full: ε = ${atMost(epsilon)}${delta ? ` with δ = ${atMost(delta)}` : ""}. By a rule of thumb that is ${strength} protection.`),
  );
}

// --- steps

function steps() {
  const counts = (kind, name) => (last ? last[kind].filter(({ place }) => stepOf(place) === name).length : 0);
  find("#steps").replaceChildren(
    ...Object.entries(STEPS).map(([name, label], i) => {
      const wrong = seen.has(name) ? counts("problems", name) : 0;
      const open = seen.has(name) && !wrong ? counts("blanks", name) : 0;
      const badge = wrong
        ? element("span", { class: "count", title: "to put right" }, String(wrong))
        : open ? element("span", { class: "count open", title: "open" }, String(open)) : null;
      const button = element("button", { type: "button", "aria-current": name === step ? "step" : null, disabled: !draft.source && name !== "source", onclick: () => go(name) }, `${i + 1}. ${label}`, badge);
      return element("li", {}, button);
    }),
  );
}

function go(name) {
  step = name;
  seen.add(name);
  for (const section of form.querySelectorAll("section")) section.hidden = section.dataset.step !== name;
  find("#back").hidden = name === "source";
  find("#next").hidden = name === "review";
  find("#save").hidden = name !== "review";
  steps();
  if (name === "review") review();
  find(`#step-${name}`).focus();
}

const order = Object.keys(STEPS);
find("#next")?.addEventListener("click", () => {
  if (!draft.source) find("#said").replaceChildren(note("warn", "Choose the data first."));
  else go(order[order.indexOf(step) + 1]);
});
find("#back")?.addEventListener("click", () => go(order[order.indexOf(step) - 1]));
find("#save")?.addEventListener("click", save);

// --- 1: the source

async function sources() {
  const { files, databases } = await get("/v1/sources");
  const place = find("#sources");
  const choice = (label, source, kind) =>
    element("label", {}, element("input", { type: "radio", name: "source", onchange: () => choose(source, label) }), element("span", {}, label, " ", element("span", { class: "badge" }, kind)));
  place.replaceChildren(
    ...files.map((file) => choice(file, { file }, file.endsWith("/") ? "folder" : file.split(".").pop())),
    ...databases.map((database) => choice(database, { database }, "database")),
  );
  if (!files.length && !databases.length) place.replaceChildren(element("p", { class: "empty" }, "There is nothing in the data folder yet: put a Parquet or CSV file into it."));
}

async function choose(source, label) {
  find("#next").disabled = true; // a text file is read as a whole, to propose types
  await attempt(find("#said"), async () => {
    const { tables } = await post("/v1/sources/schema", source);
    draft.source = source;
    draft.name = label.split("/").filter(Boolean).pop().replace(/\.[^.]*$/, "").toLowerCase();
    draft.tables = tables.map((table) => ({
      name: table.name, used: true, whose: "", unit_column: "", clip_rows: "",
      columns: table.columns.map((column) => ({
        name: column.name, native: column.native, askable: column.askable, used: column.askable, type: column.type ?? "", low: "", high: "", step: column.step ?? "", typical: "", clip: "", group_keys: [], nullable: true, hidden: false,
      })),
    }));
    columns();
    promise();
    check();
    steps();
  });
  find("#next").disabled = false;
}

// --- 2: tables and columns

function columns() {
  fields.columns = [];
  find("#tables").replaceChildren(...draft.tables.map(tableCard));
}

function tableCard(table) {
  const body = element("div", { class: "stack" });
  const fill = () => {
    const names = table.columns.map((column) => [column.name, column.name]);
    const at = (key) => ["tables", table.name, key];
    const whose = new Field("Each row is about …", select([["", "choose …"], ["unit", "a person in a column"], ["each_row", "another person each"], ["public", "nobody: it is public"]], table.whose, (value) => {
      table.whose = value;
      if (value !== "unit") table.unit_column = "";
      if (value !== "unit") table.clip_rows = "";
      redo();
    }), { place: table.whose === "unit" ? null : at("unit_column"), hint: table.whose === "each_row" ? "A promise: two rows of one person are not protected as one." : "" });
    const parts = [whose];
    if (table.whose === "unit") {
      parts.push(new Field("Column that names the person", select([["", "choose …"], ...names], table.unit_column, (value) => {
        table.unit_column = value;
        redo();
      }), { place: at("unit_column") }));
      parts.push(new Field("Rows of one person that count", text(table.clip_rows, (value) => ((table.clip_rows = value), check()), { inputmode: "decimal", placeholder: "20" }), { place: at("clip_rows"), hint: "More are scaled down. The typical person should fit." }));
    }
    const shown = table.columns.map((column) => columnFields(table, column, form.dataset.types.split(" "), check, redo));
    fields.columns = fields.columns.filter((field) => field.table !== table.name);
    for (const field of [...parts, ...shown.flatMap((one) => one.fields)]) {
      field.table = table.name;
      fields.columns.push(field);
    }
    body.replaceChildren(element("div", { class: "grid" }, parts.map((field) => field.box)), element("div", { class: "columns" }, shown.map((one) => one.box)));
  };
  const redo = () => {
    const focused = document.activeElement?.getAttribute("data-focus");
    fill();
    if (focused) body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
    check();
  };
  fill();
  const use = draft.tables.length > 1
    ? element("label", {}, element("input", { type: "checkbox", checked: table.used, onchange: (event) => {
        table.used = event.target.checked;
        body.hidden = !table.used;
        check();
      } }), "serve this table")
    : null;
  return element("div", { class: "card stack" }, element("div", { class: "row apart" }, element("h3", {}, `Table ${table.name}`), use), body);
}

// --- 3: the promise

function promise() {
  const changed = (key) => (value) => {
    draft[key] = value;
    check();
  };
  const number = { inputmode: "decimal" };
  fields.promise = [
    new Field("Name of the dataset", text(draft.name, changed("name")), { place: ["dataset", "name"] }),
    new Field("Whose data", text(draft.people, changed("people"), { placeholder: "customers of the shop" }), { place: ["dataset", "people"], hint: "Datasets about the same people name the same people and share one budget." }),
    new Field("One protected …", text(draft.unit, changed("unit")), { place: ["privacy", "unit"], hint: "as a noun: patient, customer, household" }),
    new Field("Paid in", select([["rho", "rho"], ["mu_squared", "mu_squared"], ["epsilon", "epsilon"]], draft.currency, changed("currency")), { place: ["privacy", "currency"], hint: "rho suits most uses. mu_squared holds about 15 % more of the same questions, but no sampled or adaptive programs. epsilon is for a few numbers in all, about a dozen. It cannot be changed later." }),
    new Field("Budget", text(draft.budget, changed("budget"), number), { place: ["privacy", "budget"], hint: "All that may ever be spent, by everybody together." }),
    new Field("Delta", text(draft.delta, changed("delta"), number), { place: ["privacy", "delta"], hint: "The chance that the promise fails: far below 1 divided by the number of people." }),
    new Field("Most for one question", text(draft.each, changed("each"), number), { place: ["privacy", "each"], hint: "May stay open." }),
    new Field("How many people, about", text(draft.population, changed("population"), number), { place: ["privacy", "population"], hint: "If that is public: delta is then checked." }),
    new Field("Fresh budget every", text(draft.reset, changed("reset"), { placeholder: "365 days" }), { place: ["privacy", "reset"], hint: "The same people pay again, so think twice. May stay open." }),
    new Field("Most over all windows", text(draft.lifetime, changed("lifetime"), number), { place: ["privacy", "lifetime"], hint: "Only with a fresh budget." }),
  ];
  find("#promise").replaceChildren(...fields.promise.map((field) => field.box));
}

// --- 4: who may ask

function analysts() {
  fields.analysts = [];
  const rows = draft.analysts.map((analyst, i) => {
    const at = (key) => ["analysts", analyst.name, key];
    const name = new Field("Name", text(analyst.name, (value) => ((analyst.name = value), place(), check())), { place: ["analysts", analyst.name] });
    const limit = new Field("May spend", text(analyst.limit, (value) => ((analyst.limit = value), check()), { inputmode: "decimal" }), { place: at("limit") });
    const each = new Field("For one question", text(analyst.each, (value) => ((analyst.each = value), check()), { inputmode: "decimal" }), { place: at("each") });
    const place = () => {
      name.place = JSON.stringify(["analysts", analyst.name]);
      limit.place = JSON.stringify(at("limit"));
      each.place = JSON.stringify(at("each"));
    };
    fields.analysts.push(name, limit, each);
    const gone = element("button", { type: "button", class: "quiet", "aria-label": `Take out ${analyst.name || "this one"}`, onclick: () => {
      draft.analysts.splice(i, 1);
      analysts();
      check();
    } }, "Remove");
    return element("div", { class: "person" }, name.box, limit.box, each.box, gone);
  });
  find("#analysts").replaceChildren(...(rows.length ? rows : [element("p", { class: "empty" }, "Nobody yet: the dataset can be saved, and nobody may ask it.")]));
}

find("#add-analyst")?.addEventListener("click", () => {
  draft.analysts.push({ name: "", limit: "", each: "" });
  analysts();
  find("#analysts .person:last-child input").focus();
});

// --- 5: review

function review() {
  const place = find("#review");
  if (!last) return;
  const tables = draft.tables.filter((table) => table.used);
  const facts = {
    data: draft.source.file ?? draft.source.database,
    dataset: draft.name,
    protects: `each ${draft.unit}${draft.people ? ` of ${draft.people}` : ""}`,
    budget: `${draft.budget} ${draft.currency} for everybody together${draft.reset ? `, again every ${draft.reset}` : ""}`,
    tables: tables.map((table) => `${table.name} (${table.columns.filter((column) => column.used).length} columns)`).join(", "),
    "may ask": draft.analysts.map((analyst) => analyst.name).filter(Boolean).join(", ") || "nobody yet",
  };
  const at = ({ place: path, text: words }) => {
    const named = path.filter((part, i) => !["tables", "columns", "privacy", "dataset", "analysts"].includes(part) && !(i === path.length - 1 && words.startsWith(part)));
    return named.length ? `${named.join(", ")}: ` : "";
  };
  place.replaceChildren(
    element("dl", { class: "facts" }, Object.entries(facts).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ...(last.promise ? [element("p", {}, last.promise.sentence)] : []),
    ...(last.problems.length ? [box("bad", "To put right:", last.problems.map((problem) => at(problem) + problem.text))] : []),
    ...(last.blanks.length ? [box("warn", "Still open; until then some questions are refused:", last.blanks.map((blank) => at(blank) + blank.text))] : []),
    ...(last.notes.length ? [box("", "Good to know:", last.notes)] : []),
    element("details", {}, element("summary", {}, "The policy file"), element("pre", {}, last.toml)),
  );
  find("#save").disabled = !last.valid;
}

function box(kind, title, items) {
  const made = note(kind, title);
  made.append(listed(items));
  return made;
}

async function save() {
  const button = find("#save");
  button.disabled = true;
  const good = await attempt(find("#said"), async () => {
    const { name } = await post("/v1/policies", sent());
    location.assign(`/curator/datasets/${encodeURIComponent(name)}`);
  });
  if (!good) button.disabled = false;
}

form?.addEventListener("submit", (event) => event.preventDefault());

if (form) {
  steps();
  analysts();
  find("#back").hidden = true;
  find("#meaning").append(element("p", { class: "soft" }, "What the budget means is said here once it is complete."));
  sources().catch((problem) => find("#sources").replaceChildren(trouble(problem)));
}
