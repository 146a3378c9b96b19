// Checks a certificate of the kind "violation": a reward does not explain a response.
// node check_violation.mjs proof.json       leaves with 0 if it is proved, 1 if not, 2 if it cannot be read
import { readFileSync } from "node:fs";

// Fractions: [n, d] with d > 0, of BigInt.
const frac = (n, d = 1n) => (d < 0n ? [-n, -d] : [n, d]);
const add = ([a, b], [c, d]) => [a * d + c * b, b * d];
const mul = ([a, b], [c, d]) => [a * c, b * d];
const sub = (x, y) => add(x, mul([-1n, 1n], y));
const less = ([a, b], [c, d]) => a * d < c * b;
const abs = (x) => (x[0] < 0n ? [-x[0], x[1]] : x);
const ZERO = [0n, 1n], ONE = [1n, 1n];
const dot = (xs, ys) => xs.reduce((sum, x, i) => add(sum, mul(x, ys[i])), ZERO);

class Unreadable extends Error {}
const form = (holds, what) => { if (!holds) throw new Unreadable(what); };

// A number of the format: text n/d in decimal or hexadecimal digits, or a JSON number. A double is the fraction that
// it is; an integer beyond 2^53 is not in the file as a double any more, so it is refused.
function number(x) {
  if (typeof x === "string") {
    const parts = /^(-?)(0x[0-9a-f]+|[0-9]+)(?:\/(0x[0-9a-f]+|[0-9]+))?$/i.exec(x);
    form(parts && BigInt(parts[3] ?? 1) > 0n, `number ${x}`);
    return [BigInt(parts[2]) * (parts[1] ? -1n : 1n), BigInt(parts[3] ?? 1)];
  }
  form(Number.isFinite(x) && (Math.abs(x) < 2 ** 53 || !Number.isInteger(x)), `number ${x}`);
  let d = 1n;
  for (; !Number.isInteger(x); x *= 2) d *= 2n;
  return [BigInt(x), d];
}

const list = (x, n, what) => { form(Array.isArray(x) && x.length === n, what); return x; };
const at = (i, n) => Number.isInteger(i) && 0 <= i && i < n;
function shares(row, n, what) {
  const weights = list(row, n, what).map(number), sum = weights.reduce(add);
  form(weights.every(([w]) => w >= 0n) && sum[0] > 0n, what);
  return weights.map((w) => mul(w, frac(sum[1], sum[0])));
}

function proved(file) {
  const found = `found version ${JSON.stringify(file?.version)}, kind ${JSON.stringify(file?.kind)}`;
  form(file?.version === 2 && file.kind === "violation", `${found}; checked here are version 2, kind violation`);
  const [S, A, B] = list(file.instance.shape, 3, "shape");
  form([S, A, B].every((n) => Number.isInteger(n) && n > 0), "shape");
  const gamma = number(file.instance.discount);
  form(gamma[0] >= 0n && less(gamma, ONE), "discount");
  const kernel = list(file.instance.kernel, S * A * B, "kernel").map((pairs) => {
    form(pairs.length > 0 && pairs.every(([j], i) => at(j, S) && (i === 0 || pairs[i - 1][0] < j)), "kernel");
    const row = shares(pairs.map((pair) => pair[1]), pairs.length, "kernel");
    return (v) => dot(row, pairs.map(([j]) => v[j]));
  });
  const pi1 = list(file.pi1, S, "pi1").map((row) => shares(row, A, "pi1"));
  const pi2 = list(file.pi2, S, "pi2").map((row) => shares(row, B, "pi2"));
  const v = list(file.values, S, "values").map(number);
  const joint = Array.isArray(file.reward[0]);
  const reward = (s, a, b) => number(joint ? list(list(file.reward[s], A, "reward")[a], B, "reward")[b] : file.reward[s]);
  list(file.reward, S, "reward");
  const { state, action } = file, advantage = number(file.advantage);
  form(at(state, S) && at(action, B) && advantage[0] !== 0n, "state, action, advantage");

  // gap(s, b) = v(s) − r̄(s, b) − γ P_b(s)·v, and the error of v: its gap on average over what was played.
  const gap = (s, b) => sub(v[s], dot(pi1[s], pi1[s].map((_, a) =>
    add(reward(s, a, b), mul(gamma, kernel[(s * A + a) * B + b](v))))));
  const errors = v.map((_, s) => abs(dot(pi2[s], pi2[s].map((_, b) => gap(s, b)))));
  const largest = errors.reduce((x, y) => (less(x, y) ? y : x));
  const left = sub(ONE, gamma);
  const e = mul(mul(largest, add(ONE, gamma)), frac(left[1], left[0]));
  const better = sub(ZERO, gap(state, action));            // than the response, by playing it once
  if (advantage[0] > 0n) return !less(sub(better, e), advantage);
  return pi2[state][action][0] > 0n && !less(advantage, add(better, e));
}

try {
  const holds = proved(JSON.parse(readFileSync(process.argv[2], "utf8")));
  console.log(holds ? "PROVED" : "NOT PROVED");
  process.exit(holds ? 0 : 1);
} catch (problem) {
  console.log(`UNREADABLE: ${problem.message}`);
  process.exit(2);
}
