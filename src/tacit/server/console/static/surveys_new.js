// A survey is made: everything that is typed goes into one draft, and the service says what is wrong with it, where.

import { debounced, element, find, note, post, sentence, trouble } from "./api.js";
import { Field, byPlace, select, text } from "./curator_form.js";
import { fresh, questionFields, sentQuestion, slug } from "./surveys_question.js";

const draft = { title: "", name: "", named: false, words: "", epsilon: "2", opens: "", closes: "", minimum: "100", public_results: false, invitations: "", questions: [fresh()] };
const planned = { answers: "5000", within: "2" };
const seen = new Set(); // what somebody typed in: only there is said what is wrong, until it is to be saved
const fields = { survey: [], questions: [] };
let everything = false;
let last = null;
let asked = 0;

const every = () => [...fields.survey, ...fields.questions];

function sent() {
  const { named, questions, ...rest } = draft;
  return { ...rest, questions: questions.map(sentQuestion) };
}

// --- what the service says

const check = debounced(async () => {
  const mine = ++asked;
  try {
    const found = await post("/v1/surveys/draft", { survey: sent(), ...planned });
    if (mine !== asked) return; // an older answer than one that is asked for already
    last = found;
    if (found.valid || !everything) find("#said").replaceChildren();
    tell();
  } catch (problem) {
    if (mine === asked) find("#said").replaceChildren(trouble(problem));
  }
}, 200);

function tell() {
  const told = byPlace(last.problems);
  const open = (field) => everything || field.seen.has(field.shown);
  for (const field of every()) field.say(open(field) ? (told.get(field.place) ?? []).map(sentence) : [], []);
  const whole = [...(told.get("[]") ?? []), ...(everything ? (told.get('["questions"]') ?? []) : [])];
  find("#of-questions").textContent = whole.map(sentence).join(" ");
  find("#toml").textContent = last.toml;
  forecast();
}

function forecast() {
  find("#meaning").textContent = last.forecast?.meaning ?? "";
  const found = last.forecast?.questions ?? [];
  const rows = found.map((each, i) =>
    element("li", {},
      element("span", { class: "soft small" }, `${draft.questions[i]?.ask || `Question ${i + 1}`} (ε = ${each.epsilon})`),
      element("span", { class: "expected" }, sentence(each.expected)),
      each.needed ? element("span", {}, sentence(each.needed)) : null));
  find("#forecast").replaceChildren(...(rows.length ? rows : [element("li", { class: "empty" }, "This is said once the questions and ε are complete.")]));
}

// --- fields

function field(key, label, input, more = {}) {
  const made = new Field(label, input, { place: [key], ...more });
  Object.assign(made, { seen, key, shown: key });
  fields.survey.push(made);
  return made.box;
}

const set = (key, of = draft) => (value) => {
  of[key] = value;
  check();
};

function about() {
  const name = text("", (value) => {
    draft.named = value !== "";
    set("name")(value);
  });
  const title = text("", (value) => {
    if (!draft.named) name.value = draft.name = slug(value);
    set("title")(value);
  }, { spellcheck: "true" });
  const number = { inputmode: "decimal" };
  const moment = (key) => element("input", { type: "datetime-local", oninput: (event) => set(key)(event.target.value) });
  find("#about").append(
    field("title", "Title", title, { wide: true, hint: "What respondents see first." }),
    field("words", "Who asks, and what for", text("", set("words"), { spellcheck: "true" }), { wide: true, hint: "May stay empty." }),
    field("name", "Short name", name, { wide: true, hint: "In its address. It belongs to these questions for ever." }));
  find("#rules").append(
    field("opens", "Opens (UTC)", moment("opens"), { hint: "Empty: at once." }),
    field("closes", "Closes (UTC)", moment("closes"), { hint: "Empty: never." }),
    field("minimum", "Minimum batch", text(draft.minimum, set("minimum"), { inputmode: "numeric" }), { hint: "Results grow by at least so many reports." }),
    field("public_results", "Who sees the results", select([["", "whoever signs in"], ["yes", "everybody"]], "", (value) => set("public_results")(value === "yes"))),
    field("invitations", "Who may answer", select([["", "anybody who has the link"], ["code", "whoever has an invitation code"], ["token", "the same, with reports that cannot be traced to a code"]], "", set("invitations")), { wide: true, hint: "Without codes anybody can answer many times and spoil the result. Codes are made once the survey is saved." }));
  find("#privacy").append(
    field("epsilon", "ε of each respondent, in all", text(draft.epsilon, set("epsilon"), number), { hint: "What all answers of one person give away together. Smaller is more private, and takes more answers." }));
  find("#planned").append(
    field("answers", "Answers", text(planned.answers, set("answers", planned), { inputmode: "numeric" })),
    field("within", "Margin, points", text(planned.within, set("within", planned), number)));
}

function questions() {
  const focused = document.activeElement?.getAttribute("data-focus");
  fields.questions = [];
  const boxes = draft.questions.map((question, at) => {
    const remove = () => {
      draft.questions.splice(at, 1);
      redo();
      find("#add").focus();
    };
    const made = questionFields(question, at, { changed: check, redo, remove, free });
    fields.questions.push(...made.fields);
    return made.box;
  });
  find("#questions").replaceChildren(...(boxes.length ? boxes : [element("p", { class: "empty" }, "No question yet.")]));
  if (focused) find(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
}

function redo() {
  questions();
  if (last) tell();
  check();
}

/** A name that no other question has. */
function free(name, question) {
  const others = draft.questions.filter((each) => each !== question).map((each) => each.name);
  const numbered = (n) => (n === 1 ? name : `${name.slice(0, 36)}-${n}`);
  let n = 1;
  while (others.includes(numbered(n))) n += 1;
  return numbered(n);
}

find("#add").addEventListener("click", () => {
  draft.questions.push(fresh());
  redo();
  find("#questions .question:last-child input").focus();
});

const form = find("#survey");
for (const kind of ["input", "change"]) {
  form.addEventListener(kind, (event) => {
    const own = every().find((each) => each.input === event.target);
    own?.seen.add(own.key);
  });
}
form.addEventListener("submit", (event) => event.preventDefault());

// --- the end

find("#save").addEventListener("click", async () => {
  const button = find("#save");
  const said = find("#said");
  button.disabled = true;
  try {
    last = await post("/v1/surveys/draft", { survey: sent(), ...planned });
    if (last.valid) {
      const { survey } = await post("/v1/surveys", sent());
      location.assign(`/surveys#${encodeURIComponent(survey)}`);
      return;
    }
    everything = true;
    tell();
    said.replaceChildren(note("bad", "It is not complete.", "What is missing or wrong is said at each field."));
    every().find((each) => each.input.getAttribute("aria-invalid") === "true")?.input.focus();
  } catch (problem) {
    said.replaceChildren(trouble(problem));
  }
  button.disabled = false;
});

about();
questions();
check();
