// What an answer, a coin and a report are called, for people.

import {bucket, odd} from "./tacit-survey.js";

const MOST = 12; // names that are listed

export const labels = question => question.kind === "yes-no" ? ["no", "yes"] : question.options;

const number = bytes => bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);

// The places of all options that a report speaks for.
export function speaks(question, report) {
  const {protocol, device} = question, every = labels(question).map((_, i) => i);
  if (protocol === "direct" || protocol === "coin_flip") return [number(report)];
  if (protocol === "local_hashing") {
    const [a, b, told] = [report.slice(0, 4), report.slice(4, 8), report.slice(8)].map(number);
    return every.filter(i => bucket(a, b, i, device.buckets) === told);
  }
  if (protocol === "hadamard") {
    const told = number(report);
    return every.filter(i => odd(told >>> 1, i + 1) === (told & 1));
  }
  return every.filter(i => report[i >> 3] >> (i & 7) & 1);
}

function listed(names) {
  if (!names.length) return "none of the answers";
  const shown = names.slice(0, MOST).map(name => `“${name}”`).join(", ");
  return names.length > MOST ? `${shown} and ${names.length - MOST} more` : shown;
}

// The answer as it was given.
export function answered(question, answer) {
  if (question.kind === "several") return answer.length ? listed(answer.map(i => question.options[i])) : "none of them";
  if (question.kind === "number" || question.kind === "text") return String(answer);
  return `“${labels(question)[answer]}”`;
}

// What the coins did with it.
export function coin(question, answer, report) {
  const {protocol} = question;
  if (protocol === "several") {
    const at = number(report) >> 1, true_ = answer.includes(at), told = Boolean(report[0] & 1);
    const before = `Chance picked “${question.options[at]}”, to which you said ${true_ ? "yes" : "no"}.`;
    return `${before} ${true_ === told ? "The coin kept that." : "The coin turned it round."}`;
  }
  if (protocol === "one_bit_mean") {
    return "Chance took one end of the range, the nearer one more often, and a coin kept it or turned it round.";
  }
  if (question.kind === "text" || question.show === "distribution") return "Coins replaced a part of what you answered.";
  const found = speaks(question, report);
  if (protocol === "direct") return found[0] === answer ? "Heads: your answer stays." : "Tails: another answer takes its place.";
  if (protocol === "coin_flip") return found[0] === answer ? "The coins left it as it is." : "The coins replaced it.";
  return found.includes(answer) ? "Coins picked a group of answers, and yours is in it." : "Coins picked a group of answers, and yours is not in it.";
}

// What the report says to whoever reads it.
export function leaves(question, report) {
  const {protocol} = question;
  if (protocol === "several") return `“${question.options[number(report) >> 1]}”: ${report[0] & 1 ? "yes" : "no"}`;
  if (protocol === "one_bit_mean") return report[0] ? `the high end, ${question.range[1]}` : `the low end, ${question.range[0]}`;
  if (question.kind === "text" || question.show === "distribution") return "these bytes";
  return listed(speaks(question, report).map(i => labels(question)[i]));
}
