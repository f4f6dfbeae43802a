// All surveys at a glance: whether one is open, how many answered, and where.

import { copy, element, find, get, note, path, post, spelled, trouble } from "./api.js";

const STATES = { open: ["good", "open"], later: ["warn", "opens later"], closed: ["", "closed"] };

const time = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }) + " UTC";

const counted = (number, one, many) => `${spelled(number)} ${number === 1 ? one : many}`;

function when(item) {
  if (item.state === "later") return `Opens ${time(item.opens)}.`;
  if (item.state === "closed") return `Closed ${time(item.closes)}.`;
  return item.closes ? `Closes ${time(item.closes)}.` : "";
}

const ADMITS = { code: "By invitation code.", token: "By invitation code, which a report cannot be traced back to." };

function admits(item) {
  if (!item.invitations) return "Anybody may answer, also more than once: whoever wants to spoil the result can.";
  const { kind, made, used } = item.invitations;
  return `${ADMITS[kind]} ${spelled(used)} of ${counted(made, "code was", "codes were")} used.`;
}

/** New codes as a file of links: they are told once, and the service keeps only their digests. */
async function invite(item, count, said) {
  try {
    const { codes } = await post(path`/v1/surveys/${item.survey}/invitations`, { count });
    const link = location.origin + path`/s/${item.survey}`;
    const rows = ["code,link", ...codes.map((code) => `${code},${link}#${code}`)];
    const url = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
    element("a", { href: url, download: `${item.survey}-invitations.csv` }).click();
    URL.revokeObjectURL(url);
    said.replaceChildren(note("good", `${counted(codes.length, "code is", "codes are")} in the file.`, "Send each person one link. The codes are not shown again."));
  } catch (problem) {
    said.replaceChildren(trouble(problem));
  }
}

function inviting(item) {
  const said = element("div", { "aria-live": "polite" });
  const count = element("input", { type: "number", min: 1, max: 100000, value: 100, "aria-label": "How many codes" });
  const button = element("button", { type: "button", class: "small", onclick: () => invite(item, Number(count.value), said) }, "Make invitation codes");
  return element("div", { class: "stack" }, element("div", { class: "row actions inviting" }, count, button), said);
}

function card(item) {
  const [kind, word] = STATES[item.state];
  const respond = path`/s/${item.survey}`;
  const facts = [`${spelled(item.submissions)} answered`, counted(item.questions, "question", "questions"), `ε = ${item.epsilon}`];
  const about = [when(item), item.public_results ? "Everybody may see the results." : "Whoever signs in sees the results.", admits(item)];
  return element("section", { class: "card survey-card", id: item.survey, "aria-label": item.title },
    element("div", { class: "row apart" }, element("h2", {}, item.title), element("span", { class: `badge ${kind}` }, word)),
    element("p", {}, facts.join(" · ")),
    element("p", { class: "soft small" }, about.filter(Boolean).join(" ")),
    element("p", { class: "address" }, location.origin + respond),
    element("div", { class: "row actions" },
      element("a", { class: "button small primary", href: path`/s/${item.survey}/results` }, "Results"),
      element("a", { class: "button small", href: respond }, "Respond"),
      element("button", { type: "button", class: "small", onclick: () => copy(location.origin + respond, "The link is copied") }, "Copy the link")),
    item.invitations && find("#surveys").dataset.governs ? inviting(item) : null);
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
