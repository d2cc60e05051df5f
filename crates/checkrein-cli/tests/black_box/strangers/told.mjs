// What a program of a vendor's client tells the test: one JSON object, a field a case. No program waits: what it would wait
// for is noted. Waits of more than a quarter of an hour are time-outs of requests, and wait.

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

export const BASE = process.env.SERVED;
export const TOOLS = {
  look: { type: "object", properties: { path: { type: "string" }, depth: { type: "integer" } } },
  count: { type: "object", properties: {} },
};
export const FIRST = { look: JSON.stringify({ note: "three files", files: 3 }), count: "12" };
export const SECOND = { look: JSON.stringify({ note: "four files", files: 4 }), count: "13" };

const told = {};
const waits = [];
const timer = globalThis.setTimeout;
globalThis.setTimeout = (act, ms, ...rest) => {
  const wait = new Error().stack.split("\n")[2].match(/sleep|retry/) !== null;
  if (wait) waits.push(ms / 1000);
  return timer(act, wait ? 0 : ms, ...rest);
};

/** A package of the folder that the tests install. */
export async function sdk(name) {
  const require = createRequire(path.join(process.env.PACKAGES, "any.js"));
  return import(pathToFileURL(require.resolve(name)));
}

/** Runs a case. */
export async function tell(name, act) {
  try {
    told[name] = await act();
  } catch (error) {
    told[name] = { raised: error.constructor.name, status: error.status ?? null };
  }
}

/** Says it all. */
export function end() {
  told.waits = waits;
  process.stdout.write(JSON.stringify(told));
}
