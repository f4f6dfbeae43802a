// Profiles of a dataset's tables: what one costs, who pays, how far it is, and which were made.

import { element, find, get, moment, note, path, post, spelled, trouble } from "./api.js";
import { attempt, confirmed, table } from "./curator_form.js";

const whole = find("#dataset");
const name = whole.dataset.dataset;
const governs = Boolean(whole.dataset.governs);
const place = find("#profiles");
const OFTEN = 500; // ms between two looks at a job

async function profiles(said = null) {
  try {
    const { currency, items } = await get(path`/v1/datasets/${name}/profiles`);
    const rows = items.map((each) => [element("b", {}, each.table), price(each, currency), state(each), ...(governs ? [make(each, currency)] : [])]);
    const heads = ["Table", "Price", "Made", ...(governs ? [""] : [])];
    place.replaceChildren(table(heads, rows, "No table of this dataset is of people."), said ?? element("div"));
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

const price = (each, currency) => (each.price === null ? "none declared: add profile = … to the table" : `${each.price} ${currency}, from the dataset's budget`);

function state(each) {
  if (each.made === null) return "never";
  return each.current ? `entry ${each.made.entry}, of the data as they are` : `entry ${each.made.entry}, of older data: it chooses clips, and no interval covers the truth`;
}

function make(each, currency) {
  if (each.price === null) return "";
  if (each.current) return element("span", { class: "soft" }, "up to date");
  if (each.quote === null) return element("span", { class: "soft" }, each.refused);
  if (!each.quote.enough) return element("span", { class: "soft" }, "the budget has too little left");
  return element("button", { type: "button", class: "small", "aria-label": `Make the profile of ${each.table}`, onclick: () => ask(each, currency) }, "Make it");
}

async function ask(each, currency) {
  const words = element("div", {},
    element("p", {}, `It costs ${spelled(each.quote.cost[currency])} ${currency}, once for the data as they are. The dataset pays: ${spelled(each.quote.left[currency])} ${currency} would be left for everybody.`),
    element("p", { class: "soft" }, "What was paid is not given back, also if it is stopped."));
  if (!(await confirmed(`Make the profile of ${each.table}?`, words, "Pay and make it"))) return;
  const said = element("div");
  place.append(said);
  await attempt(said, async () => {
    const job = await post(path`/v1/datasets/${name}/profile`, { table: each.table });
    await follow(said, job, each.table);
  });
}

/** Look at a job until it ends. */
async function follow(said, job, about) {
  while (job.state === "queued" || job.state === "running") {
    const bar = element("progress", { max: 1, "aria-label": `How far the profile of ${about} is` });
    if (job.progress !== undefined) bar.value = job.progress;
    said.replaceChildren(element("p", {}, `The profile of ${about} is being made …`), bar);
    await new Promise((resolve) => setTimeout(resolve, OFTEN));
    job = await get(path`/v1/jobs/${job.id}`);
  }
  const told = job.state === "done"
    ? note("good", `The profile of ${about} is made.`, "Questions use it from now on.")
    : note("bad", `The profile of ${about} was not made.`, job.problem?.detail ?? "It was stopped: what was charged stays charged.");
  await profiles(told);
}

profiles();
