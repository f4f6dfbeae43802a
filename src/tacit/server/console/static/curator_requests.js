// Wishes: sent by analysts, decided by curators.

import { element, find, get, moment, path, post, remove, trouble } from "./api.js";
import { attempt, confirmed } from "./curator_form.js";

const place = find("#requests");
const { role, who } = place.dataset;
const said = find("#said");
const KINDS = { open: "warn", approving: "warn", approved: "good", refused: "bad", withdrawn: "" };
let cursor = null;

async function load(more = false) {
  const list = find("#list");
  try {
    const { items, next } = await get(`/v1/requests?limit=30${more && cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    cursor = next;
    const cards = items.map(card);
    if (more) list.querySelector("#more")?.remove();
    if (more) list.append(...cards);
    else list.replaceChildren(...cards);
    if (!list.children.length) list.replaceChildren(element("p", { class: "empty" }, "No requests."));
    if (next) list.append(element("button", { type: "button", id: "more", onclick: () => load(true) }, "Older ones"));
  } catch (problem) {
    list.replaceChildren(trouble(problem));
  }
}

function card(request) {
  const open = request.state === "open";
  const sums = request.amount ? `would like to spend ${request.amount} in all` : "does not say how much";
  const made = element("article", { class: "card stack tight", "data-request": request.id },
    element("div", { class: "row apart" },
      element("div", {}, element("b", {}, request.owner), " on ", element("b", {}, request.dataset), ` ${sums}`),
      element("span", { class: `badge ${KINDS[request.state]}` }, request.state)),
    element("p", {}, request.reason),
    element("p", { class: "soft small" }, moment(request.created), request.decided ? `; ${request.state} ${moment(request.decided)} by ${request.decider}` : ""));
  if (request.note) made.append(element("p", { class: "note" }, request.note));
  if (open && request.owner === who) {
    made.append(element("div", { class: "row" }, element("button", { type: "button", class: "small", onclick: async () => {
      if (await attempt(said, () => remove(path`/v1/requests/${request.id}`), "Taken back")) load();
    } }, "Take it back")));
  } else if (request.state === "open" && role === "curator") made.append(decision(request));
  return made;
}

function decision(request) {
  const id = (name) => `${name}-${request.id}`;
  const limit = element("input", { id: id("limit"), value: request.amount, inputmode: "decimal", autocomplete: "off", required: true });
  const words = element("input", { id: id("note"), autocomplete: "off", maxlength: "2000" });
  const problem = element("div", { "aria-live": "polite" });
  const decide = async (body) => {
    if (await attempt(problem, () => post(path`/v1/requests/${request.id}/decision`, { ...body, note: words.value }), body.approve ? "Approved" : "Refused")) load();
  };
  const form = element("form", { class: "row wide", onsubmit: async (event) => {
    event.preventDefault();
    const told = element("p", {}, `${request.owner} may then spend ${limit.value} in all on ${request.dataset}. It is written to the policy and recorded in the ledger.`);
    if (await confirmed("Approve?", told, "Approve")) decide({ approve: true, limit: limit.value });
  } },
    element("div", { class: "field" }, element("label", { for: id("limit") }, "May spend in all"), limit),
    element("div", { class: "field" }, element("label", { for: id("note") }, "A word to them"), words),
    element("button", { class: "primary", "aria-label": `Approve the request of ${request.owner}` }, "Approve"),
    element("button", { type: "button", class: "danger", "aria-label": `Refuse the request of ${request.owner}`, onclick: () => decide({ approve: false }) }, "Refuse"));
  return element("div", { class: "stack tight" }, form, problem);
}

find("#wish")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const amount = find("#amount").value.trim();
  const body = { reason: find("#reason").value.trim(), ...(amount ? { amount } : {}) };
  const sent = await attempt(said, () => post(path`/v1/datasets/${find("#dataset").value.trim()}/requests`, body), "Sent; a curator decides");
  if (!sent) return;
  find("#wish").reset();
  load();
});

const wanted = new URLSearchParams(location.search).get("dataset");
if (wanted && find("#dataset")) find("#dataset").value = wanted;
load();
