// The page of one respondent: asks, tosses the coins here, shows what comes out, and sends just that.

import {randomise} from "./tacit-survey.js";
import {request, token} from "./blind.js";
import {body, bytes, change, hex, keep, kept, note} from "./memo.js";
import {answered, coin, labels, leaves} from "./words.js";

const terms = JSON.parse(document.getElementById("terms").textContent);
const [form, review, status] = ["questions", "review", "status"].map(id => document.getElementById(id));
const SOON = 1000, LATE = 60000; // ms until a report that could not be sent is tried again, twice as long each time

const WORDS = {
  number: () => "Please give a number in the range.",
  text: ({device}) => `A word or two, of at most ${device.longest} bytes (most letters are one).`,
};

function made(tag, properties = {}, ...children) {
  const found = Object.assign(document.createElement(tag), properties);
  found.append(...children);
  return found;
}

function say(text, kind = "") {
  status.replaceChildren(made("p", {className: `note ${kind}`}, text));
}

function post(path, text) {
  return fetch(`/v1/surveys/${terms.survey}/${path}`, {
    method: "POST",
    headers: {"content-type": "application/json"},
    credentials: "omit", // a cookie would say who this is
    referrerPolicy: "no-referrer",
    body: text,
  });
}

// --- being invited

// The code of the link, which browsers do not send when they fetch a page; it is taken out of the address at once.
let code = decodeURIComponent(location.hash.slice(1));
if (code) history.replaceState(null, "", location.pathname);

// The memo with what admits its report: nothing, its code, or the token that its code is exchanged for, once.
let admission = null;
const admitted = memo => admission ??= invitation(memo).finally(() => admission = null);

async function invitation(memo) {
  if (terms.invitations === "none" || memo.invitation) return memo;
  const typed = document.getElementById("code")?.value.trim() || memo.code || code;
  if (!typed) throw new Error("type the code of your invitation");
  if (terms.invitations === "code") return change(terms.survey, {invitation: typed});
  memo = change(terms.survey, {code: typed, blind: memo.blind ?? await request(terms.token_key)});
  const found = await post("token", JSON.stringify({code: typed, hidden: memo.blind.hidden}));
  if (found.status === 429 || found.status >= 500) throw new TypeError("later");
  const told = await found.json();
  if (!found.ok) throw new Error(told.detail);
  const made = token(terms.token_key, memo.blind, told.signature);
  if (made === null) throw new Error("the service did not sign the token as it should");
  return change(terms.survey, {code: undefined, blind: undefined, invitation: made});
}

function invited(memo) {
  if (terms.invitations === "none" || memo.invitation) return [];
  const hint = made("span", {className: "hint", id: "code-hint"}, "It stands in your invitation and works once.");
  const input = made("input", {type: "text", id: "code", autocomplete: "off", spellcheck: false, value: memo.code ?? code});
  input.setAttribute("aria-describedby", hint.id);
  return [made("div", {className: "field"}, made("label", {htmlFor: "code"}, "Your invitation code"), hint, input)];
}

// --- asking

function field(question) {
  const {name, kind} = question;
  if (kind === "number") {
    const [low, high] = [question.device.low, question.device.high];
    const hint = made("span", {className: "hint", id: `${name}-hint`}, `From ${low} to ${high}`);
    const input = made("input", {type: "number", name, min: low, max: high, step: "any", inputMode: "decimal"});
    input.setAttribute("aria-label", question.ask);
    input.setAttribute("aria-describedby", hint.id);
    return [made("div", {className: "field"}, hint, input)];
  }
  if (kind === "text") {
    const hint = made("span", {className: "hint", id: `${name}-hint`}, WORDS.text(question));
    const input = made("input", {type: "text", name, autocomplete: "off"});
    input.setAttribute("aria-label", question.ask);
    input.setAttribute("aria-describedby", hint.id);
    return [made("div", {className: "field"}, hint, input)];
  }
  if (kind === "choice" && question.options.length > 12) {
    const select = made("select", {name}, made("option", {value: ""}, "Choose one"));
    select.setAttribute("aria-label", question.ask);
    question.options.forEach((option, i) => select.append(made("option", {value: i}, option)));
    return [select];
  }
  const type = kind === "several" ? "checkbox" : "radio";
  const order = kind === "yes-no" ? [1, 0] : labels(question).map((_, i) => i);
  return order.map(i => {
    const label = labels(question)[i], text = kind === "yes-no" ? (i ? "Yes" : "No") : label;
    return made("label", {className: "option"}, made("input", {type, name, value: i}), text);
  });
}

function ask() {
  for (const question of terms.questions) {
    const more = question.kind === "several" ? " (any number, or none)" : "";
    form.append(made("fieldset", {id: `question-${question.name}`}, made("legend", {}, question.ask + more), ...field(question)));
  }
  const button = made("button", {type: "submit", className: "primary"}, "Toss the coins");
  form.append(made("div", {className: "row"}, button, made("span", {className: "soft"}, "Nothing is sent yet.")));
  form.hidden = false;
  form.addEventListener("submit", event => {
    event.preventDefault();
    toss();
  });
}

// The answer as the coins need it, or undefined if there is none.
function answer({name, kind, device}) {
  const given = new FormData(form).getAll(name);
  if (kind === "several") return given.map(Number);
  const text = (given[0] ?? "").trim();
  if (kind === "text") return text && new TextEncoder().encode(text).length <= device.longest ? text : undefined;
  if (text === "") return undefined;
  const value = Number(text);
  return kind === "number" && !(value >= device.low && value <= device.high) ? undefined : value;
}

// --- the coins

function toss() {
  for (const old of form.querySelectorAll(".said")) old.remove();
  const answers = new Map(terms.questions.map(question => [question.name, answer(question)]));
  const open = terms.questions.filter(question => answers.get(question.name) === undefined);
  for (const question of open) {
    const {name, kind} = question, words = WORDS[kind]?.(question) ?? "Please answer. To leave a question out would tell something.";
    document.getElementById(`question-${name}`).append(made("p", {className: "said", role: "alert"}, words));
  }
  if (open.length) {
    form.querySelector(".said").parentElement.querySelector("input, select").focus();
    return;
  }
  const reports = {};
  for (const question of terms.questions) reports[question.name] = hex(randomise(question, answers.get(question.name)));
  const id = hex(crypto.getRandomValues(new Uint8Array(16)));
  const memo = keep(terms.survey, {id, version: terms.version, reports, state: "tossed"});
  form.reset();
  form.hidden = true;
  if (memo.id === id) {
    if (terms.invitations === "token" && code) admitted(memo).catch(() => {}); // some time before the report is sent
    return show(memo, answers);
  }
  show(memo, null); // another tab was first
  say("This device tossed its coins before. They are not tossed again.");
}

// --- what comes out

function steps(question, report, answers) {
  const list = made("dl", {className: "steps"});
  if (answers) {
    const own = answers.get(question.name);
    list.append(made("dt", {}, "Your answer"), made("dd", {className: "own"}, answered(question, own)));
    list.append(made("dt", {}, "The coin"), made("dd", {className: "coin"}, coin(question, own, report)));
  }
  return list;
}

function admits(memo) {
  if (terms.invitations === "none" || memo.invitation) return [];
  const words = terms.invitations === "code" ? "and, beside it, the code of your invitation." : "and, beside it, a token. Your code is exchanged for it first, so that nobody can tell from it which code was yours.";
  return [made("p", {className: "soft small"}, words)];
}

function show(memo, answers) {
  const head = made("h2", {id: "review-head"}, memo.state === "sent" ? "What was sent" : "What will be sent");
  const cards = terms.questions.map(question => {
    const report = bytes(memo.reports[question.name]);
    const out = made("div", {className: "leaves"}, memo.state === "sent" ? "Sent: " : "Will be sent: ", made("b", {}, leaves(question, report)),
      made("code", {}, memo.reports[question.name]));
    out.dataset.question = question.name;
    return made("section", {className: "card"}, made("h3", {}, question.ask), steps(question, report, answers), out);
  });
  const whole = made("details", {}, made("summary", {}, "All that leaves this device, byte for byte"), made("pre", {id: "body"}, body(memo)), ...admits(memo));
  const row = made("div", {className: "row"});
  if (memo.state !== "sent") {
    const button = made("button", {type: "button", className: "primary", id: "send"}, "Send this");
    button.addEventListener("click", () => send(memo, answers));
    row.append(button, made("span", {className: "soft"}, "The coins were tossed, and are not tossed again."));
  }
  review.replaceChildren(head, ...cards, whole, ...(memo.state === "sent" ? [] : invited(memo)), row);
  review.hidden = false;
  if (answers) review.focus();
}

// --- sending

let timer = 0, pause = SOON;

async function send(memo, answers) {
  clearTimeout(timer);
  memo = note(terms.survey, "agreed");
  say("Sending …");
  document.getElementById("send")?.setAttribute("disabled", "");
  let found;
  try {
    memo = await admitted(memo);
    found = await post("reports", body(memo));
  } catch (error) {
    if (error instanceof TypeError) return later(memo, answers); // of fetch: there is no network
    document.getElementById("send")?.removeAttribute("disabled");
    return say(`It was not sent: ${error.message}.`, "bad");
  }
  if (found.ok) {
    sending = null;
    show(note(terms.survey, "sent"), answers);
    return say("Thank you. It was sent, and nothing else was.", "good");
  }
  if (found.status === 429 || found.status >= 500) return later(memo, answers);
  const problem = await found.json().catch(() => ({}));
  if (problem.type?.endsWith("not-invited")) {
    show(change(terms.survey, {invitation: undefined}), answers); // another code may be typed
  }
  say(`It was not taken: ${problem.detail ?? "the service refused it"}.`, "bad");
}

function later(memo, answers) {
  sending = {memo, answers};
  say("It could not be sent now. It is kept on this device, and will be sent when this page is open and there is a network.", "warn");
  timer = setTimeout(() => send(memo, answers), pause);
  pause = Math.min(2 * pause, LATE);
}

let sending = null;
addEventListener("online", () => {
  pause = SOON;
  if (sending) send(sending.memo, sending.answers);
});

// --- beginning

function begin() {
  let memo;
  try {
    memo = kept(terms.survey);
    localStorage.setItem("tacit-survey", "keeps");
  } catch {
    return say("This browser keeps nothing for this page, so it could not keep to one toss of the coins. Allow it to store data, and load the page again.", "bad");
  }
  if (memo && memo.version !== terms.version) return say("This device answered an earlier form of this survey. A device answers once.", "warn");
  if (!memo) return ask();
  show(memo, null);
  if (memo.state === "sent") say("This device has answered. Coming back sends nothing new.", "good");
  else if (memo.state === "agreed") send(memo, null);
  else say("This device tossed its coins before. They are not tossed again.");
}

begin();

if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("/s/worker.js").then(() => caches.open("tacit-survey-1")).then(cache => cache.add(location.pathname)).catch(() => {});
}
