// Google's own client for Node.

import { BASE, FIRST, SECOND, TOOLS, end, sdk, tell } from "./told.mjs";

const { GoogleGenAI } = await sdk("@google/genai");
const retryOptions = { attempts: 3, initialDelay: 1, maxDelay: 2, jitter: 0 };
const client = new GoogleGenAI({ apiKey: "nobody's", httpOptions: { baseUrl: `${BASE}/node`, retryOptions } });
const functionDeclarations = Object.entries(TOOLS).map(([name, schema]) => {
  return { name, description: name, parametersJsonSchema: schema };
});
const talk = [{ role: "user", parts: [{ text: "What is there?" }] }];
const request = () => {
  return { model: "m", contents: talk, config: { systemInstruction: "Be exact.", tools: [{ functionDeclarations }] } };
};
const partsOf = (chunks) => chunks.flatMap((chunk) => chunk.candidates[0].content?.parts ?? []);

function told(chunks) {
  const parts = partsOf(chunks);
  const last = chunks.at(-1);
  const calls = parts.filter((part) => part.functionCall).map((part) => [part.functionCall.name, part.functionCall.args]);
  const usage = [last.usageMetadata.promptTokenCount, last.usageMetadata.candidatesTokenCount];
  return { text: parts.map((part) => part.text ?? "").join(""), calls, stop: last.candidates[0].finishReason, usage };
}

const whole = async () => [await client.models.generateContent(request())];

async function streamed(chunks) {
  for await (const chunk of await client.models.generateContentStream(request())) chunks.push(chunk);
  return chunks;
}

function answered(chunks, results) {
  const parts = partsOf(chunks);
  talk.push({ role: "model", parts });
  const back = parts.filter((part) => part.functionCall).map(({ functionCall: { id, name } }) => {
    return { functionResponse: { id, name, response: { output: results[name] } } };
  });
  talk.push({ role: "user", parts: back });
  return told(chunks);
}

const pieces = (chunks) => partsOf(chunks).map((part) => part.text).filter((text) => text);

async function broken() {
  const chunks = [];
  try {
    await streamed(chunks);
    return { pieces: pieces(chunks), stop: chunks.at(-1).candidates[0].finishReason ?? null };
  } catch (error) {
    return { pieces: pieces(chunks), raised: error.constructor.name };
  }
}

async function stream() {
  const chunks = await streamed([]);
  return { pieces: pieces(chunks), ...told(chunks) };
}

async function models() {
  const all = [];
  for await (const model of await client.models.list()) all.push(model.name.replace("models/", ""));
  return all;
}

await tell("models", models);
await tell("whole", async () => told(await whole()));
await tell("streamed", stream);
await tell("calls", async () => answered(await whole(), FIRST));
await tell("results", async () => told(await whole()));
await tell("streamed_calls", async () => answered(await streamed([]), SECOND));
await tell("streamed_results", async () => told(await streamed([])));
await tell("busy", async () => told(await whole()));
await tell("wrong", async () => told(await whole()));
await tell("cut", broken);
await tell("ended", broken);
await tell("garbage", broken);
await tell("length", async () => told(await whole()));
await tell("exhausted", async () => told(await whole()));
end();
