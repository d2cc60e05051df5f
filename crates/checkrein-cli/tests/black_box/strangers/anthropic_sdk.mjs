// Anthropic's own client for Node.

import { BASE, FIRST, SECOND, TOOLS, end, sdk, tell } from "./told.mjs";

const { default: Anthropic } = await sdk("@anthropic-ai/sdk");
const client = new Anthropic({ baseURL: `${BASE}/node`, apiKey: "nobody's" });
const tools = Object.entries(TOOLS).map(([name, schema]) => ({ name, description: name, input_schema: schema }));
const talk = [{ role: "user", content: "What is there?" }];
const request = (more) => ({ model: "m", max_tokens: 100, messages: talk, tools, ...more });

function told(message) {
  const text = message.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  const calls = message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
  return { text, calls, stop: message.stop_reason, usage: [message.usage.input_tokens, message.usage.output_tokens] };
}

const whole = (more) => client.messages.create(request(more));

async function streamed(pieces) {
  const stream = client.messages.stream(request());
  stream.on("text", (piece) => pieces.push(piece));
  return stream.finalMessage();
}

function answered(message, results) {
  talk.push({ role: "assistant", content: message.content });
  const blocks = message.content.filter((block) => block.type === "tool_use");
  const content = blocks.map((block) => ({ type: "tool_result", tool_use_id: block.id, content: results[block.name] }));
  talk.push({ role: "user", content });
  return told(message);
}

async function broken() {
  const pieces = [];
  try {
    return { pieces, stop: (await streamed(pieces)).stop_reason };
  } catch (error) {
    return { pieces, raised: error.constructor.name };
  }
}

async function stream() {
  const pieces = [];
  return { pieces, ...told(await streamed(pieces)) };
}

await tell("models", async () => (await client.models.list()).data.map((model) => model.id));
await tell("whole", async () => told(await whole({ system: "Be exact." })));
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
