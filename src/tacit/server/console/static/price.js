// How much to spend, what that means in words, and what a question would cost.
import { bars, debounced, element, find, get, note, path, sentence, spelled } from "./api.js";
import { SYMBOL, atMost, currencyOf, figure, fraction, priced, raised, share, times } from "./money.js";

/** The slider between a thousandth of the budget and all of it, evenly in factors. */
export class Spend {
  constructor(changed) {
    this.changed = changed;
    this.slider = find("#slider");
    this.amount = find("#amount");
    this.error = find("#error");
    this.slider.addEventListener("input", () => {
      this.amount.value = this.#at(Number(this.slider.value));
      this.#moved();
    });
    this.amount.addEventListener("input", () => {
      this.#place();
      this.#moved();
    });
    this.error.addEventListener("input", () => this.changed());
    for (const radio of document.querySelectorAll('input[name="mode"]')) {
      radio.addEventListener("change", () => {
        find("#spend").hidden = this.mode !== "spend";
        find("#reach").hidden = this.mode !== "reach";
        this.explain();
        this.changed();
      });
    }
    find("#confidence").addEventListener("change", () => {
      find(".confidence-words").textContent = String(Math.round(Number(find("#confidence").value) * 100));
      this.changed();
    });
    this.explain = debounced(() => this.#explain(), 60);
    this.told = new Map();
  }

  get mode() {
    return find('input[name="mode"]:checked').value;
  }

  /** Begin with a dataset. */
  open(dataset, privacy) {
    this.dataset = dataset;
    this.currency = privacy.currency;
    this.most = fraction(privacy.budget);
    this.told.clear();
    for (const place of document.querySelectorAll(".currency")) place.textContent = SYMBOL[this.currency];
    this.amount.value = this.#rounded(this.most / 20);
    this.#place();
    this.explain();
  }

  /** No price is known: then there is nothing to say about it. */
  quiet() {
    this.latest = null;
    find("#meaning").replaceChildren(element("p", {}, "What the price means for one person is said here, once there is one."));
  }

  /** What is offered, as the interface takes it; null while a number is missing. */
  offer() {
    const confidence = find("#confidence").value;
    const [name, place] = this.mode === "reach" ? ["error", this.error] : [this.currency, this.amount];
    const good = /^\d{1,12}(\.\d{1,12})?$|^\.\d{1,12}$/.test(place.value.trim()) && Number(place.value) > 0;
    place.setAttribute("aria-invalid", String(!good));
    const value = place === this.amount && place.value === this.shown ? this.exactly : place.value.trim();
    return good ? { [name]: value, confidence } : null;
  }

  /** An amount that was paid, to its last digit; shown are those that matter. */
  set(amount) {
    this.exactly = amount;
    this.shown = this.amount.value = raised(amount);
    find('input[name="mode"][value="spend"]').click();
    this.#place();
    this.#moved();
  }

  #moved() {
    this.slider.setAttribute("aria-valuetext", `${this.amount.value} ${this.currency}`);
    this.explain();
    this.changed();
  }
  #at(step) {
    return this.#rounded((this.most / 1000) * 1000 ** (step / Number(this.slider.max)));
  }
  #rounded(value) {
    return String(Number(value.toPrecision(2)));
  }
  #place() {
    const value = Number(this.amount.value);
    if (!(value > 0)) return;
    this.slider.value = Math.round((Math.log((value * 1000) / this.most) / Math.log(1000)) * Number(this.slider.max));
    this.slider.setAttribute("aria-valuetext", `${this.amount.value} ${this.currency}`);
  }

  #explain() {
    if (this.mode === "spend" && !this.offer()) this.quiet();
    else if (this.mode === "spend") this.say({ [this.currency]: this.offer()[this.currency], delta: "0" });
  }

  /** The words for an amount; whichever was asked for last is shown. */
  async say(amount) {
    const currency = currencyOf(amount);
    const asked = new URLSearchParams({ [currency]: amount[currency], delta: amount.delta });
    const key = (this.latest = String(asked));
    try {
      if (!this.told.has(key)) {
        this.told.set(key, await get(path`/v1/datasets/${this.dataset}/meaning` + `?${asked}`));
      }
    } catch (problem) {
      if (this.latest === key) find("#meaning").replaceChildren(element("p", {}, sentence(problem.message)));
      return;
    }
    if (this.latest !== key) return;
    const found = this.told.get(key);
    const factor = found.odds_factor === null ? "without limit" : `by a factor of at most ${atMost(found.odds_factor)}`;
    find("#meaning").replaceChildren(
      element("p", {}, element("strong", {}, `Odds move ${factor}.`)),
      element("p", {}, found.sentence),
      element("details", {}, element("summary", {}, "More"), ...found.words.map((line) => element("p", {}, line))),
    );
  }
}

/**
 * A quote as a part of the page, and as one sentence to be heard. `before`: the same was asked and paid for already;
 * `wish`: where one can ask for more.
 */
export function shown(quote, budget, { before, wish }) {
  const currency = currencyOf(quote.cost);
  const delta = Number(quote.cost.delta) ? `and δ ${figure(quote.cost.delta)}` : "";
  const left = budget?.left ? `${priced(budget.left, currency)} left` : "";
  const money = before
    ? [
        element("p", { class: "cost" }, "Free ", element("small", {}, `${priced(quote.cost)} paid before`)),
        ...bar(quote, budget, currency, false),
        element("p", {}, left ? `You have ${left}.` : ""),
      ]
    : [
        element("p", { class: "cost" }, `${priced(quote.cost)} `, element("small", {}, delta)),
        ...bar(quote, budget, currency, true),
        quote.enough ? element("p", {}, rest(quote, currency)) : null,
      ];
  const noise = quote.expected.map((each) => element("li", {}, element("b", {}, each.column), ` ${each.words}`));
  const parts = [element("div", {}, money)];
  if (noise.length) {
    parts.push(element("div", {}, element("p", { class: "label" }, "Noise to expect"), element("ul", { class: "expected" }, noise)));
  }
  if (before) {
    parts.push(note("good", "Asked before.", "While the data are the same, asking again is free and has the same noise."));
  } else if (!quote.enough) {
    const have = left ? ` You have ${left}.` : "";
    const box = note("bad", "The budget does not allow it.", `This costs ${priced(quote.cost)}.${have} Spend less, or `);
    const more = "ask a curator for more";
    box.firstChild.append(wish ? element("a", { href: wish }, more) : more, ".");
    parts.push(box);
  }
  if (quote.notes.length) {
    parts.push(element("ul", { class: "remarks" }, quote.notes.map((text) => element("li", {}, sentence(text)))));
  }
  const heard = quote.expected.map((each) => `${each.column} ${each.words}`).join(", ");
  const after = before ? "paid before, so free" : quote.enough ? rest(quote, currency) : "The budget does not allow it.";
  const said = `Costs ${priced(quote.cost)}: ${after} Noise: ${heard || "none"}.`;
  return { parts: [element("div", { class: "quoted" }, parts)], said };
}

function rest(quote, currency) {
  const more = times(quote.left, quote.cost);
  const again = more >= 1 ? ` About ${spelled(more)} more like this.` : " Then there is no room for another like it.";
  return `${priced(quote.left, currency)} would be left.${Number.isFinite(more) ? again : ""}`;
}

/** What is spent, and what this would add, of the limit that is reached first. */
function bar(quote, budget, currency, adding) {
  const holders = (budget?.holders ?? []).filter((each) => each.mine);
  const tightest = holders.toSorted((a, b) => Number(a.left[currency]) - Number(b.left[currency]))[0];
  if (!tightest) return [];
  const limit = tightest.limit[currency];
  const spent = share(tightest.spent[currency], limit);
  const now = adding ? Math.min(share(quote.cost[currency], limit), 1 - spent) : 0;
  const words = `${figure(tightest.spent[currency])} of ${figure(limit)} spent`;
  return [element("div", { class: `meter parts${quote.enough || !adding ? "" : " over"}`, "aria-hidden": "true", title: words }, bars(["spent", 0, spent], ["now", spent, now]))];
}

