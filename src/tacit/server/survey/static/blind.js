// A token that its signer has never seen (RFC 9474, RSABSSA-SHA384-PSS-Deterministic), from an invitation code.

const BITS = 2048, SIZE = BITS / 8, DIGEST = 48, EXPONENT = 65537n;

const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
const big = bytes => BigInt(`0x${hex(bytes)}`);
const digits = number => number.toString(16).padStart(BITS / 4, "0");
const joined = (...parts) => new Uint8Array(parts.flatMap(part => Array.from(part)));
const hashed = async bytes => new Uint8Array(await crypto.subtle.digest("SHA-384", bytes));

function power(base, exponent, modulus) {
  let found = 1n;
  for (let rest = exponent; rest; rest >>= 1n, base = base * base % modulus) if (rest & 1n) found = found * base % modulus;
  return found;
}

// 1/value, or null if there is none.
function inverse(value, modulus) {
  let [a, b, x, y] = [modulus, value % modulus, 0n, 1n];
  while (b) [a, b, x, y] = [b, a % b, y, x - a / b * y];
  return a === 1n ? (x + modulus) % modulus : null;
}

// EMSA-PSS (RFC 8017, 9.1.1).
export async function encoded(message, salt) {
  const digest = await hashed(joined(new Uint8Array(8), await hashed(message), salt));
  const block = joined(new Uint8Array(SIZE - 2 * DIGEST - 2), [1], salt);
  for (let place = 0; place * DIGEST < block.length; place++) {
    const mask = await hashed(joined(digest, [0, 0, 0, place]));
    for (let i = 0; i < DIGEST && place * DIGEST + i < block.length; i++) block[place * DIGEST + i] ^= mask[i];
  }
  block[0] &= 0x7f;
  return joined(block, digest, [0xbc]);
}

// A message of this device's own, and the form that hides it. All of it is text, to be kept on the device.
export async function request(key) {
  const modulus = BigInt(`0x${key}`);
  const message = crypto.getRandomValues(new Uint8Array(32)), salt = crypto.getRandomValues(new Uint8Array(DIGEST));
  let factor, undo = null;
  while (undo === null) {
    factor = big(crypto.getRandomValues(new Uint8Array(SIZE + 16))) % modulus;
    undo = factor > 1n ? inverse(factor, modulus) : null;
  }
  const hidden = big(await encoded(message, salt)) * power(factor, EXPONENT, modulus) % modulus;
  return {message: hex(message), undo: digits(undo), hidden: digits(hidden)};
}

// The token, from the signature on the hidden form; null if the signature is not the survey's, which would mark us.
export function token(key, {message, undo, hidden}, signature) {
  const modulus = BigInt(`0x${key}`), signed = BigInt(`0x${signature}`);
  if (power(signed, EXPONENT, modulus) !== BigInt(`0x${hidden}`)) return null;
  return message + digits(signed * BigInt(`0x${undo}`) % modulus);
}
