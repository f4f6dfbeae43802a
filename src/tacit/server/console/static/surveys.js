// All surveys at a glance: whether one is open, how many answered, and where.

import { copy, element, find, get, path, spelled, trouble } from "./api.js";

const STATES = { open: ["good", "open"], later: ["warn", "opens later"], closed: ["", "closed"] };

const time = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }) + " UTC";

const counted = (number, one, many) => `${spelled(number)} ${number === 1 ? one : many}`;

function when(item) {
  if (item.state === "later") return `Opens ${time(item.opens)}.`;
  if (item.state === "closed") return `Closed ${time(item.closes)}.`;
  return item.closes ? `Closes ${time(item.closes)}.` : "";
}

function card(item) {
  const [kind, word] = STATES[item.state];
  const respond = path`/s/${item.survey}`;
  const facts = [`${spelled(item.submissions)} answered`, counted(item.questions, "question", "questions"), `ε = ${item.epsilon}`];
  const about = [when(item), item.public_results ? "Everybody may see the results." : "Whoever signs in sees the results."];
  return element("section", { class: "card survey-card", id: item.survey, "aria-label": item.title },
    element("div", { class: "row apart" }, element("h2", {}, item.title), element("span", { class: `badge ${kind}` }, word)),
    element("p", {}, facts.join(" · ")),
    element("p", { class: "soft small" }, about.filter(Boolean).join(" ")),
    element("p", { class: "address" }, location.origin + respond),
    element("div", { class: "row actions" },
      element("a", { class: "button small primary", href: path`/s/${item.survey}/results` }, "Results"),
      element("a", { class: "button small", href: respond }, "Respond"),
      element("button", { type: "button", class: "small", onclick: () => copy(location.origin + respond, "The link is copied") }, "Copy the link")));
}

async function begin() {
  const place = find("#surveys");
  try {
    const { items } = await get("/v1/surveys");
    const empty = place.dataset.governs ? "There is no survey yet. Make one: it takes a few minutes." : "There is no survey yet. A curator can make one.";
    place.replaceChildren(...(items.length ? items.map(card) : [element("p", { class: "empty" }, empty)]));
    const saved = items.length && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (saved) location.replace(location.hash); // only now is it there to be pointed at
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
  place.setAttribute("aria-busy", "false");
}

begin();
