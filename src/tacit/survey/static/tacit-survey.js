// Makes the report on an answer, on the device and by its own coins. What `randomise` returns is all that may leave.
// A question is an item of `questions` in a survey's terms. The coins are those of the Python package, byte for byte:
// both are held to the same published vectors.

const STOCK = 65536; // the most that WebCrypto gives at once
const stock = new Uint8Array(STOCK);
let used = STOCK;

// The next byte of WebCrypto, handed out once and then wiped.
function fresh() {
  if (used === STOCK) {
    crypto.getRandomValues(stock);
    used = 0;
  }
  const byte = stock[used];
  stock[used++] = 0;
  return byte;
}

let next = fresh;

// 32 bits, the first byte is the highest.
const word = () => (next() << 24 | next() << 16 | next() << 8 | next()) >>> 0;

// Heads with probability h / 2^64, where h is a number or [high, low].
function toss(h) {
  const high = word(), low = word(), top = h[0] ?? 0;
  return high < top || (high === top && low < (h[1] ?? h));
}

// A number from 0 to bound - 1, drawn again while it is none.
function below(bound) {
  const width = 32 - Math.clz32(bound - 1), mask = 2 ** width - 1;
  for (;;) {
    let drawn = 0;
    for (let bits = width; bits > 0; bits -= 8) drawn = drawn << 8 | next();
    drawn = (drawn & mask) >>> 0;
    if (drawn < bound) return drawn;
  }
}

// What is no answer is refused before a coin is tossed.
function place(answer, bound) {
  if (!Number.isInteger(answer) || answer < 0 || answer >= bound) refuse();
  return answer;
}

function text(answer, most) {
  const bytes = new TextEncoder().encode(answer);
  if (!bytes.length || bytes.length > most || bytes.includes(0)) refuse();
  return bytes;
}

function refuse() {
  throw new RangeError("this is no answer to the question");
}

// Kept with a coin, else one of the others.
function direct(answer, bound, keep) {
  if (toss(keep)) return answer;
  const other = below(bound - 1);
  return other + (other >= answer);
}

// The bucket of an answer under the hash function (a, b).
export const bucket = (a, b, answer, buckets) => (Math.imul(a, answer) + b >>> 16) * buckets >>> 16;

// Whether two numbers share an odd number of ones.
export function odd(i, j) {
  let both = i & j;
  for (const step of [16, 8, 4, 2, 1]) both ^= both >>> step;
  return both & 1;
}

// A number in the bytes from a place on, the lowest first.
function little(value, bytes, at = 0) {
  for (; at < bytes.length; at++, value >>>= 8) bytes[at] = value;
  return bytes;
}

// A set of answers: a bit for each.
function bits(size, count, has) {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < count; i++) if (has(i)) bytes[i >> 3] |= 1 << (i & 7);
  return bytes;
}

const unary = ({categories, true: own, other}, answer, size) =>
  bits(size, categories, i => toss(i === answer ? own : other));

const makers = {
  direct: ({categories, keep}, answer) => direct(answer, categories, keep),
  coin_flip: ({truth}, answer) => toss(truth) ? answer : below(2),
  symmetric_unary: unary,
  optimized_unary: unary,
  local_hashing({buckets, keep}, answer, size) {
    const made = new Uint8Array(size), drawn = () => next() | next() << 8 | next() << 16 | next() << 24;
    const a = drawn(), b = drawn(), told = direct(bucket(a, b, answer, buckets), buckets, keep);
    return little(told, little(b, little(a, made), 4), 8);
  },
  hadamard({places, keep}, answer) {
    const at = below(places);
    return 2 * at + (odd(at, answer + 1) ^ !toss(keep));
  },
  subset({categories, size: most, keep}, answer, size) {
    const kept = toss(keep);
    let take = most - kept, left = categories - 1;
    return bits(size, categories, i => {
      if (i === answer) return kept;
      const taken = below(left--) < take;
      take -= taken;
      return taken;
    });
  },
  several({options, keep}, answer) {
    const option = below(options);
    return 2 * option + (answer.includes(option) === toss(keep));
  },
  one_bit_mean({low, high, steps, keep}, answer) {
    const at = Math.min(steps, Math.floor((answer - low) * (steps / (high - low)) + 0.5));
    const bit = below(steps) < at;
    return +(bit === toss(keep));
  },
  square_wave({low, high, steps, width, near}, answer) {
    const at = Math.min(steps, Math.floor((answer - low) * ((steps + 1) / (high - low))));
    if (toss(near)) return at + below(width);
    const other = below(steps);
    return other + (other < at ? 0 : width);
  },
  prefix({longest, step, functions, buckets, keep}, answer, size) {
    const level = below(longest / step), way = below(functions), made = new Uint8Array(size);
    let h = Math.imul(way + 1, 0x9E3779B1);
    const mix = (factor, shift) => h = (h = Math.imul(h, factor)) ^ h >>> shift;
    for (let i = 0; i < (level + 1) * step; i++) {
      h ^= answer[i]; // nothing, behind its end
      mix(0x85EBCA6B, 15);
    }
    h ^= h >>> 16;
    mix(0x85EBCA6B, 13);
    mix(0xC2B2AE35, 16);
    little(way, made, 1);
    made[0] = level;
    made[size - 1] = direct((h >>> 16) * buckets >>> 16, buckets, keep);
    return made;
  },
};

// The report on an answer: the place of an option (no is 0, yes is 1), an array of places, a number in the range, or
// a short text.
// `bytes`, a function, stands in for WebCrypto in tests.
export function randomise({protocol, device, bytes: size}, answer, bytes = fresh) {
  if (device.steps) Number.isFinite(answer) && answer >= device.low && answer <= device.high || refuse();
  else if (device.options) for (const each of answer) place(each, device.options);
  else if (device.longest) answer = text(answer, device.longest);
  else place(answer, device.categories);
  next = bytes;
  try {
    const made = makers[protocol](device, answer, size);
    return typeof made === "number" ? little(made, new Uint8Array(size)) : made;
  } finally {
    next = fresh;
  }
}
