// Forms whose problems the service finds: each field knows its place in the policy, and shows what is said of it.

import { element, toast, trouble } from "./api.js";

let made = 0;

/** A field. `place` is where problems of it belong, as the service names it: ["privacy", "budget"]. */
export class Field {
  constructor(label, input, { hint = "", place = null, wide = false } = {}) {
    const id = input.id || `field-${++made}`;
    input.id = id;
    this.place = place && JSON.stringify(place);
    this.input = input;
    this.error = element("span", { class: "error", id: `${id}-error` });
    this.blank = element("span", { class: "open-blank" });
    this.error.hidden = this.blank.hidden = true;
    input.setAttribute("aria-describedby", `${id}-error`);
    const words = hint ? element("span", { class: "hint" }, hint) : null;
    this.box = element("div", { class: `field${wide ? " wide" : ""}` }, element("label", { for: id }, label), input, words, this.error, this.blank);
  }
  say(problems, blanks) {
    this.error.textContent = problems.join("; ");
    this.error.hidden = !problems.length;
    this.input.setAttribute("aria-invalid", problems.length ? "true" : "false");
    this.blank.textContent = blanks.join("; ");
    this.blank.hidden = !blanks.length || problems.length > 0;
  }
}

/** What is said of each place: texts by the place as a key. */
export function byPlace(items) {
  const told = new Map();
  for (const { place, text: words } of items) {
    const key = JSON.stringify(place);
    told.set(key, [...(told.get(key) ?? []), words]);
  }
  return told;
}

export const text = (value, changed, more = {}) =>
  element("input", { type: "text", autocomplete: "off", spellcheck: "false", value, oninput: (event) => changed(event.target.value.trim()), ...more });

export const lines = (values, changed, more = {}) => {
  const area = element("textarea", { rows: "2", spellcheck: "false", ...more });
  area.value = values.join("\n");
  area.addEventListener("input", () => changed(area.value.split("\n").map((line) => line.trim()).filter(Boolean)));
  return area;
};

export function select(options, value, changed) {
  const list = element("select", { onchange: (event) => changed(event.target.value) });
  for (const [name, label] of options) list.append(element("option", { value: name, selected: name === value }, label));
  return list;
}

export const tick = (label, value, changed) =>
  element("label", {}, element("input", { type: "checkbox", checked: value, onchange: (event) => changed(event.target.checked) }), label);

/** A question that is answered with a button; resolves to whether it was yes. */
export function confirmed(title, body, yes, kind = "primary") {
  return new Promise((resolve) => {
    const dialog = element("dialog", { "aria-label": title });
    const answer = (value) => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    dialog.append(
      element("div", { class: "stack" },
        element("h2", {}, title),
        body,
        element("div", { class: "row" },
          element("button", { type: "button", class: kind, onclick: () => answer(true) }, yes),
          element("button", { type: "button", onclick: () => answer(false) }, "Leave it"))),
    );
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      answer(false);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export const listed = (items) => element("ul", { class: "plain" }, items.map((item) => element("li", {}, item)));

/** A table that becomes a list on a narrow screen. Cells are texts or elements. */
export function table(heads, rows, empty) {
  if (!rows.length) return element("p", { class: "empty" }, empty);
  return element("div", { class: "scroll" },
    element("table", { class: "stacked" },
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows.map((cells) =>
        element("tr", {}, cells.map((cell, i) => element("td", { "data-name": heads[i] || null }, cell)))))));
}

/** Run something that may be refused; a problem goes to `place`. Resolves to whether it went well. */
export async function attempt(place, work, word = "") {
  place.replaceChildren();
  try {
    await work();
    if (word) toast(word);
    return true;
  } catch (problem) {
    place.replaceChildren(trouble(problem));
    place.scrollIntoView({ block: "nearest" });
    return false;
  }
}
