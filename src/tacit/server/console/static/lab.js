// The lab: sliders ask the service, which knows the theorems; the pictures follow.

import { debounced, element, find, get, spelled, trouble } from "./api.js";
import { drawDensities, drawTradeoff } from "./lab_draw.js";
import { atMost } from "./money.js";

// --- the trade-off

const chosen = () => {
  const power = Number(find("#delta").value);
  return {
    epsilon: Number(Math.pow(10, Number(find("#epsilon").value)).toPrecision(2)),
    delta: power <= -13 ? 0 : Math.pow(10, power),
    times: Number(find("#times").value),
    prior: Number(find("#prior").value) / 100,
  };
};

function label({ epsilon, delta, times, prior }) {
  find("#epsilon-is").value = spelled(epsilon);
  find("#delta-is").value = delta ? `1 in ${spelled(Math.round(1 / delta))}` : "none";
  find("#times-is").value = times;
  find("#prior-is").value = `${Math.round(prior * 100)} %`;
}

const upTo = (share) => `${Math.min(100, Math.ceil(share * 1000) / 10)} %`; // a bound is rounded up

let asked = 0;
const explore = debounced(async () => {
  const wish = chosen();
  const mine = ++asked;
  const delta = wish.delta ? wish.delta.toFixed(13).replace(/0+$/, "") : "0";
  const query = new URLSearchParams({ epsilon: wish.epsilon, delta, times: wish.times, prior: wish.prior });
  try {
    const found = await get(`/v1/lab/tradeoff?${query}`);
    if (mine !== asked) return;
    show(found);
  } catch (problem) {
    find("#tradeoff-picture").replaceChildren(trouble(problem));
  }
}, 60);

function show(found) {
  const { meaning } = found;
  drawTradeoff(find("#tradeoff-picture"), found);
  find("#tradeoff-sentence").textContent = meaning.sentence;
  const names = ["key", "key second"];
  find("#tradeoff-legend").replaceChildren(
    ...found.curves.map((curve, i) => element("span", { class: names[i] }, curve.label)),
    element("span", { class: "key third" }, "guessing"),
  );
  const [few, some] = meaning.membership_power;
  const facts = {
    "ε in all": meaning.epsilon === null ? "no limit" : atMost(meaning.epsilon),
    "δ in all": meaning.delta ? `1 in ${spelled(Math.floor(1 / meaning.delta + 1e-6))}` : "none",
    "odds move by at most": meaning.odds_factor === null ? "no limit" : `× ${atMost(meaning.odds_factor)}`,
    "members found at 1 % false alarms": `≤ ${upTo(few.at_most)}`,
    "members found at 10 % false alarms": `≤ ${upTo(some.at_most)}`,
    "rule of thumb": meaning.heuristic_strength,
  };
  find("#tradeoff-numbers").replaceChildren(
    ...Object.entries(facts).map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))),
  );
}

for (const name of ["epsilon", "delta", "times", "prior"]) {
  find(`#${name}`).addEventListener("input", () => {
    label(chosen());
    explore();
  });
}

// --- the playground

let plays = [];
let drawn = 0;
const current = () => plays.find((play) => play.name === find("#mechanism").value);

function knobs() {
  const play = current();
  find("#mechanism-words").textContent = play.words;
  find("#mechanism-knobs").replaceChildren(
    ...play.knobs.map((knob, i) => {
      const id = `knob-${i}`;
      const shown = element("output", { for: id, class: "number" }, String(knob.value));
      const { low, high, step, value } = knob;
      const slider = element("input", { id, type: "range", min: low, max: high, step, value });
      slider.addEventListener("input", () => {
        shown.value = slider.value;
        draw();
      });
      return element("div", { class: "field" }, element("label", { for: id }, `${knob.label} `, shown), slider);
    }),
  );
}

const draw = debounced(async () => {
  const play = current();
  const values = play.knobs.map((_, i) => find(`#knob-${i}`).value).join(",");
  const mine = ++drawn;
  try {
    const found = await get(`/v1/lab/densities?${new URLSearchParams({ mechanism: play.name, values })}`);
    if (mine !== drawn) return;
    drawDensities(find("#densities-picture"), found);
    tell(found);
  } catch (problem) {
    find("#densities-picture").replaceChildren(trouble(problem));
  }
}, 60);

function tell(found) {
  const { epsilon, delta } = found.claim;
  find("#densities-legend").replaceChildren(
    element("span", { class: "key" }, `truth ${found.inputs[0]}`),
    element("span", { class: "key second" }, `truth ${found.inputs[1]}`),
    element("span", { class: "key fourth" }, "claimed ±ε"),
  );
  const seen = Math.max(0, ...found.ratio.filter((value) => value !== null).map(Math.abs));
  const factor = atMost(Math.exp(seen));
  const claim =
    epsilon === null
      ? "The claim has no ε at this δ."
      : `Claimed: ε = ${atMost(epsilon)}, a factor of ${atMost(Math.exp(epsilon))}` +
        (delta ? `, except with a chance of ${atMost(delta)}.` : ", without exception.");
  const rest = found.hidden ? ` ${spelled(found.hidden)} unlikelier answers are not drawn.` : "";
  find("#densities-words").textContent = `No answer shown here is more than ${factor} times likelier for one than for the other. ${claim}${rest}`;
}

find("#mechanism").addEventListener("change", () => {
  knobs();
  draw();
});

async function begin() {
  label(chosen());
  explore();
  try {
    plays = (await get("/v1/lab/mechanisms")).items;
  } catch (problem) {
    find("#densities-picture").replaceChildren(trouble(problem));
    return;
  }
  find("#mechanism").replaceChildren(...plays.map((play) => element("option", { value: play.name }, spaced(play.name))));
  knobs();
  draw();
}

addEventListener("resize", debounced(() => {
  explore();
  if (plays.length) draw();
}, 200));

const spaced = (name) => name.replace(/([a-z])([A-Z])/g, "$1 $2");

begin();
