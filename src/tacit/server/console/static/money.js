// Amounts of budget: exact decimals as text, compared and divided as whole numbers, so that nothing is rounded.

const DIGITS = 30;
export const SYMBOL = { epsilon: "ε", rho: "ρ" };

/** A decimal text as a whole number of 10^-30. */
export function exact(text) {
  const [whole, rest = ""] = String(text).split(".");
  return BigInt(whole || "0") * 10n ** BigInt(DIGITS) + BigInt(rest.padEnd(DIGITS, "0").slice(0, DIGITS));
}

/** The currency that an amount `{epsilon | rho, delta}` is in. */
export const currencyOf = (amount) => (amount.epsilon !== undefined && amount.epsilon !== null ? "epsilon" : "rho");

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

/** Four significant digits of an amount, rounded up: what is shown is never less than what is paid. */
export function raised(text) {
  const number = Number(text);
  const scale = 10 ** (3 - Math.floor(Math.log10(number)));
  const up = Math.ceil(Number((number * scale).toPrecision(12))) / scale;
  return String(Number(up.toPrecision(4)));
}

/** A number that may be written as a fraction, as the policy's are. */
export function fraction(text) {
  const [top, bottom = "1"] = String(text).split("/");
  return Number(top) / Number(bottom);
}
