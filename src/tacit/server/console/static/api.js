// The interface under /v1 as the pages use it, and small tools for building a page out of text that is never markup.

const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

/** What the service says when it says no: `title`, `message` (what is wrong and what to do), `status`, `kind`. */
export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `the service answered ${status}`);
    this.title = body.title || "It did not work";
    this.status = status;
    this.kind = String(body.type || "").replace("urn:tacit:problem:", "");
    this.problems = body.problems ?? []; // of settings, each with its path
  }
}

/** One request. Resolves to `{ status, data, headers }`; rejects with a `Problem`, or an AbortError if `signal` fired. */
export async function call(method, path, { body, headers = {}, signal } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (method !== "GET") sent["X-CSRF-Token"] = csrf;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let answer;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(path, { method, headers: sent, body: text, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No connection", detail: "the service cannot be reached: try again in a moment" }, 0);
  }
  const text = await answer.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    data = { title: "Not understood", detail: "the service answered something that is not JSON" };
    if (answer.ok) throw new Problem(data, answer.status);
  }
  if (answer.status === 401) {
    throw new Problem({ title: "Signed out", detail: "your session has ended: open a new sign-in link" }, 401);
  }
  if (!answer.ok) throw new Problem(data ?? {}, answer.status);
  return { status: answer.status, data, headers: answer.headers };
}

export const get = async (path, more) => (await call("GET", path, more)).data;
export const post = async (path, body, more) => (await call("POST", path, { ...more, body })).data;
export const put = async (path, body, more) => (await call("PUT", path, { ...more, body })).data;
export const remove = async (path, more) => (await call("DELETE", path, more)).data;

/** A path with each part escaped: path`/v1/datasets/${name}/ask`. */
export const path = (parts, ...names) =>
  parts.reduce((whole, part, i) => whole + part + (i < names.length ? encodeURIComponent(names[i]) : ""), "");

// --- building pages

export const find = (selector, within = document) => within.querySelector(selector);

/**
 * An element. Properties whose value is a function listen (`onclick`), `class` and `aria-…` are attributes, false and
 * null leave one out. Children are elements or texts; a text is never markup.
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An element of SVG; children are elements or texts. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The inside of a meter: bars `[class, from, width]`, as shares of it. */
export const bars = (...parts) =>
  shape("svg", { preserveAspectRatio: "none" }, ...parts.map(([kind, from, width]) =>
    shape("rect", { class: kind, x: `${from * 100}%`, width: `${width * 100}%`, height: "100%" })));

/** A box that says something: `kind` is "", "good", "warn" or "bad". */
export const note = (kind, title, text = "") =>
  element("div", { class: `note ${kind}` }, element("p", {}, element("strong", {}, title), text ? ` ${text}` : ""));

/** A problem as a box. */
export const trouble = (problem) => note("bad", `${problem.title}.`, sentence(problem.message));

/** What somebody sees to whom no dataset is open. */
export const nothing = (verb, role) =>
  element(
    "p",
    { class: "empty" },
    `There is no dataset that you may ${verb}. `,
    role === "analyst" ? element("a", { href: "/requests" }, "Ask a curator for access") : "A curator can add your name to one",
    ".",
  );

/** With a capital and a full stop, since messages of the service have neither. */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

/** A short word at the edge of the window, also told to screen readers. */
export function toast(text) {
  const place = find("#toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("shown"), 4000);
}

/** Text to the clipboard, and a word about it. */
export async function copy(text, word = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(word);
  } catch {
    toast("The browser did not allow copying");
  }
}

/** A function that waits until nobody called it for `delay` ms. */
export function debounced(work, delay = 250) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), delay);
  };
}

/** A number for reading: grouped, at most `digits` significant where it is not whole. */
export function spelled(value, digits = 4) {
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  if (number !== 0 && (Math.abs(number) < 1e-4 || Math.abs(number) >= 1e15)) return number.toExponential(2);
  const places = Number.isInteger(number) ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(number) || 1)));
  return number.toLocaleString("en-GB", { maximumFractionDigits: Math.min(20, places) });
}

/** µs since 1970 as date and time for reading, in the reader's own time zone. */
export const moment = (micros) =>
  new Date(micros / 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A random name for one wish, to send as Idempotency-Key. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "console-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
