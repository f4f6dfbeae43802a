// Amounts of budget: exact decimals as text, compared and divided as whole numbers, so that nothing is rounded.
import { spelled } from "./api.js";

const DIGITS = 30;
export const SYMBOL = { epsilon: "ε", rho: "ρ", mu_squared: "μ²" };

/** A decimal text as a whole number of 10^-30. */
export function exact(text) {
  const [whole, rest = ""] = String(text).split(".");
  return BigInt(whole || "0") * 10n ** BigInt(DIGITS) + BigInt(rest.padEnd(DIGITS, "0").slice(0, DIGITS));
}

/** The currency that an amount `{epsilon | rho | mu_squared, delta}` is in. */
export const currencyOf = (amount) => Object.keys(SYMBOL).find((name) => amount[name] !== undefined && amount[name] !== null);

/** How often `cost` fits into `left`, by what is scarcer: the currency or delta. Infinity for what costs nothing. */
export function times(left, cost) {
  const ratios = [currencyOf(cost), "delta"]
    .filter((name) => exact(cost[name]) > 0n)
    .map((name) => Number(exact(left[name] ?? "0") / exact(cost[name])));
  return ratios.length ? Math.min(...ratios) : Infinity;
}

/** part / whole, between 0 and 1, for drawing. */
export function share(part, whole) {
  const below = Number(exact(whole));
  return below ? Math.min(1, Number(exact(part)) / below) : 1;
}

/** For reading: 0.5 ε. */
export const priced = (amount, currency = currencyOf(amount)) => `${figure(amount[currency])} ${SYMBOL[currency]}`;

/** Four significant digits, with "≈" where that leaves something out. */
export function figure(text) {
  const number = Number(text);
  const short = Number(number.toPrecision(4));
  return Math.abs(short - number) <= 1e-9 * Math.abs(number) ? String(short) : `≈ ${short}`;
}

/** Some significant digits of an amount or a bound, rounded up: what is shown is never less than what is so. */
export function raised(text, digits = 4) {
  const number = Number(text);
  if (!(number > 0) || number === Infinity) return String(number);
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(number)));
  const up = Math.ceil(Number((number * scale).toPrecision(12))) / scale;
  return String(Number(up.toPrecision(digits)));
}

/** A bound for reading: three digits, rounded up, grouped. */
export const atMost = (number) => spelled(raised(number, 3));

/** A number that may be written as a fraction, as the policy's are. */
export function fraction(text) {
  const [top, bottom = "1"] = String(text).split("/");
  return Number(top) / Number(bottom);
}
