// One question of a survey that is being made: the fields that its kind has room for.

import { element } from "./api.js";
import { Field, lines, select, text } from "./curator_form.js";

const KINDS = [["yes-no", "yes or no"], ["choice", "one of some options"], ["several", "any number of options"], ["number", "a number"], ["text", "a short text"]];
const SHOWS = [["mean", "its mean"], ["distribution", "its distribution"]];
const LISTED = ["choice", "several"];

export const fresh = () => ({ name: "", named: false, ask: "", kind: "yes-no", options: [], low: "", high: "", show: "mean", bins: "", longest: "", epsilon: "", seen: new Set() });

/** What of a question is sent: what its kind has room for, and nothing that is empty. */
export function sentQuestion(question) {
  const { name, ask, kind, epsilon } = question;
  const found = { name, ask, kind, epsilon };
  if (LISTED.includes(kind)) found.options = question.options;
  if (kind === "number") Object.assign(found, { low: question.low, high: question.high, show: question.show });
  if (kind === "number" && question.show === "distribution") found.bins = question.bins;
  if (kind === "text") found.longest = question.longest;
  return found;
}

/** A short name out of words, as addresses and files have it; nothing if no letter is left. */
export const slug = (words, most = 40) =>
  words.normalize("NFKD").toLowerCase().replace(/[\u0300-\u036f]/g, "").replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+/, "").slice(0, most).replace(/-+$/, "");

/** The box of a question and its fields. `changed` tells that something was typed, `redo` draws all questions again. */
export function questionFields(question, at, { changed, redo, remove, free }) {
  const fields = [];
  const focus = (key) => ({ "data-focus": `${at} ${key}` });
  const field = (key, label, input, { place = key, shown = key, ...more } = {}) => {
    const made = new Field(label, input, { ...more, place: ["questions", at, place] });
    Object.assign(made, { seen: question.seen, key, shown });
    fields.push(made);
    return made;
  };
  const set = (key) => (value) => {
    question[key] = value;
    changed();
  };
  const whole = { inputmode: "numeric" };
  const number = { inputmode: "decimal" };
  const name = text(question.name, (value) => {
    question.named = value !== "";
    set("name")(value);
  }, focus("name"));
  field("ask", "Question", text(question.ask, (value) => {
    if (!question.named) name.value = question.name = value && free(slug(value.split(/\s+/).slice(0, 4).join(" ")) || `question-${at + 1}`, question);
    set("ask")(value);
  }, { spellcheck: "true", ...focus("ask") }), { wide: true });
  const kind = select(KINDS, question.kind, (value) => {
    question.kind = value;
    redo();
  });
  kind.setAttribute("data-focus", `${at} kind`);
  field("kind", "What is answered", kind);
  field("epsilon", "ε of this question", text(question.epsilon, set("epsilon"), { ...number, placeholder: "even share", ...focus("epsilon") }), { hint: "Empty: an even part of what is left." });
  field("name", "Short name", name, { hint: "In tables and files." });
  if (LISTED.includes(question.kind)) {
    const hint = "One a line. “I would rather not say” lets people pass without telling so.";
    field("options", "Options", lines(question.options, set("options"), { rows: "4", ...focus("options") }), { wide: true, hint });
  }
  if (question.kind === "number") {
    const show = select(SHOWS, question.show, (value) => {
      question.show = value;
      redo();
    });
    show.setAttribute("data-focus", `${at} show`);
    field("show", "What is learned", show, { hint: "A distribution takes more answers." });
    field("low", "Least", text(question.low, set("low"), { ...number, placeholder: "0", ...focus("low") }), { place: "range", shown: "high" }); // what is wrong with a range shows once it has two ends
    field("high", "Greatest", text(question.high, set("high"), { ...number, placeholder: "24", ...focus("high") }), { place: "", hint: "From common knowledge, never from answers." });
    if (question.show === "distribution") field("bins", "Bins", text(question.bins, set("bins"), { ...whole, placeholder: "16", ...focus("bins") }), { hint: "4 to 256 parts of the range." });
  }
  if (question.kind === "text") field("longest", "Longest text, in bytes", text(question.longest, set("longest"), { ...whole, placeholder: "16", ...focus("longest") }), { hint: "At most 32. Only texts that many give are found." });
  const gone = element("button", { type: "button", class: "quiet small", "aria-label": `Remove question ${at + 1}`, onclick: remove }, "Remove");
  const box = element("fieldset", { class: "question", "aria-label": `Question ${at + 1}` },
    element("legend", {}, element("span", {}, `Question ${at + 1}`), gone),
    element("div", { class: "pairs" }, fields.map((each) => each.box)));
  return { box, fields };
}
