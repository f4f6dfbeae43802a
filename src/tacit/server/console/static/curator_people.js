// Who may come in: people, their one-time links and tokens.

import { copy, element, find, get, moment, note, path, post, remove, trouble } from "./api.js";
import { attempt, confirmed, table } from "./curator_form.js";

const me = find("#add").dataset.who;
const said = find("#said");

async function load() {
  const place = find("#people");
  try {
    const { items } = await get("/v1/people");
    place.replaceChildren(...items.map(person));
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

function person({ name, role, may_come_in: welcome }) {
  const tokens = element("div", { class: "stack tight" });
  const shown = element("div", { "aria-live": "polite" });
  const buttons = welcome
    ? [
        element("button", { type: "button", class: "small", "aria-label": `Sign-in link for ${name}`, onclick: () => link(name, shown) }, "Sign-in link"),
        element("button", { type: "button", class: "small", "aria-label": `New token for ${name}`, onclick: () => token(name, shown, tokens) }, "New token"),
        name === me ? null : element("button", { type: "button", class: "small danger", "aria-label": `Bar ${name}`, onclick: () => bar(name) }, "Bar"),
      ]
    : [element("span", { class: "badge bad" }, "let in no more")];
  const more = element("details", { ontoggle: (event) => event.target.open && list(name, tokens) }, element("summary", {}, "Tokens"), tokens);
  return element("div", { class: "card stack tight", "data-person": name },
    element("div", { class: "row apart" },
      element("div", {}, element("b", {}, name), " ", element("span", { class: "badge accent" }, role), name === me ? " that is you" : ""),
      element("div", { class: "row" }, buttons)),
    shown, more);
}

function once(shown, title, secret, words) {
  const box = note("good", title, words);
  box.append(element("code", { class: "kept", tabindex: "0" }, secret), element("button", { type: "button", class: "small", onclick: () => copy(secret) }, "Copy"));
  shown.replaceChildren(box);
}

const link = (name, shown) => attempt(shown, async () => {
  const { path: place } = await post(path`/v1/people/${name}/link`);
  once(shown, "A link that signs in once.", location.origin + place, "It works within a day, and is shown only now.");
});

const token = (name, shown, tokens) => attempt(shown, async () => {
  const made = await post(path`/v1/people/${name}/tokens`, { label: "made in the console" });
  once(shown, "A token for programs.", made.token, "It works for 90 days, and is shown only now.");
  if (tokens.children.length) list(name, tokens);
});

async function bar(name) {
  const words = element("p", {}, "No token, link or session of theirs works from now on. The name stays theirs, and this cannot be undone here.");
  if (!(await confirmed(`Let ${name} in no more?`, words, "Bar", "danger"))) return;
  if (await attempt(said, () => remove(path`/v1/people/${name}`), `${name} is let in no more`)) load();
}

async function list(name, place) {
  try {
    const { items } = await get(path`/v1/people/${name}/tokens`);
    const rows = items.map((each) => [
      element("code", {}, each.prefix),
      each.label || "–",
      moment(each.created),
      each.revoked ? `revoked ${moment(each.revoked)}` : each.expires < Date.now() * 1000 ? "past its time" : `until ${moment(each.expires)}`,
      each.revoked ? "" : element("button", { type: "button", class: "small danger", "aria-label": `Revoke ${each.prefix}`, onclick: () => attempt(said, async () => {
        await remove(path`/v1/people/${name}/tokens/${each.prefix}`);
        await list(name, place);
      }, "Revoked") }, "Revoke"),
    ]);
    place.replaceChildren(table(["Token", "Label", "Made", "Works", ""], rows, "No tokens."));
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

find("#add").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = find("#name").value.trim();
  attempt(said, async () => {
    await post("/v1/people", { name, role: find("#role").value });
    find("#name").value = "";
    await load();
  }, `${name} may come in now; give them a link`);
});

load();
