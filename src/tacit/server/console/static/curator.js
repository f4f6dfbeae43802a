// All datasets at a glance.

import { element, find, get, moment, note, path, spelled, trouble } from "./api.js";

const WORDS = { whole: ["good", "verified"], damaged: ["bad", "damaged"], failed: ["bad", "could not be verified"], lost: ["warn", "verification lost"], running: ["", "being verified"] };

async function card(name) {
  const place = element("a", { class: "card link", href: path`/curator/datasets/${name}` }, element("h2", {}, name));
  try {
    const [policy, budget, check] = await Promise.all([
      get(path`/v1/datasets/${name}/policy`),
      get(path`/v1/datasets/${name}/budget`),
      get(path`/v1/datasets/${name}/verification`),
    ]);
    const whole = budget.holders.find((holder) => holder.holder === "dataset");
    const spent = whole ? spelled(whole.spent[policy.currency]) : "0";
    const asking = policy.analysts.length === 1 ? "1 analyst" : `${policy.analysts.length} analysts`;
    place.append(
      element("p", { class: "soft" }, `${policy.people}, one ${policy.unit} at a time`),
      element("p", {}, `${spent} of ${policy.budget} ${policy.currency} spent · ${asking}`),
      element("div", { class: "row" }, status(check.last), policy.differences.length ? element("span", { class: "badge warn" }, "policy and ledger differ") : null),
    );
  } catch (problem) {
    place.append(trouble(problem));
  }
  return place;
}

function status(last) {
  if (!last) return element("span", { class: "badge" }, "never verified");
  const [kind, words] = WORDS[last.state] ?? ["", last.state];
  return element("span", { class: `badge ${kind}` }, `${words}${last.ended ? `, ${moment(last.ended)}` : ""}`);
}

async function begin() {
  const place = find("#datasets");
  try {
    const { items } = await get("/v1/datasets");
    place.replaceChildren(...(await Promise.all(items.map(({ name }) => card(name)))));
    if (!items.length) place.replaceChildren(element("p", { class: "empty" }, "No dataset is served yet."));
    const waiting = (await get("/v1/requests?state=open&limit=200")).items.length;
    if (waiting) {
      const words = waiting === 1 ? "A request waits for a decision." : `${waiting} requests wait for a decision.`;
      const box = note("warn", words);
      box.firstChild.append(" ", element("a", { href: "/curator/requests" }, "Look at them"));
      find("#waiting").replaceChildren(box);
    }
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
  place.setAttribute("aria-busy", "false");
}

begin();
