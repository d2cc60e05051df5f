// OpenAI's own client for Node, with Chat Completions.

import { BASE, FIRST, SECOND, TOOLS, end, sdk, tell } from "./told.mjs";

const { default: OpenAI } = await sdk("openai");
const client = new OpenAI({ baseURL: `${BASE}/node/v1`, apiKey: "nobody's" });
const tools = Object.entries(TOOLS).map(([name, schema]) => {
  return { type: "function", function: { name, description: name, parameters: schema } };
});
const talk = [
  { role: "system", content: "Be exact." },
  { role: "user", content: "What is there?" },
];
const request = () => ({ model: "m", messages: talk, tools });

function told(completion) {
  const { message, finish_reason } = completion.choices[0];
  const calls = (message.tool_calls ?? []).map(({ function: f }) => [f.name, JSON.parse(f.arguments)]);
  const usage = [completion.usage?.prompt_tokens, completion.usage?.completion_tokens];
  return { text: message.content ?? "", calls, stop: finish_reason, usage };
}

const whole = () => client.chat.completions.create(request());

async function streamed(pieces) {
  const stream = client.chat.completions.stream({ ...request(), stream_options: { include_usage: true } });
  stream.on("content", (piece) => piece && pieces.push(piece));
  return stream.finalChatCompletion();
}

function answered(completion, results) {
  const { content, tool_calls } = completion.choices[0].message;
  const calls = tool_calls.map(({ id, type, function: f }) => {
    return { id, type, function: { name: f.name, arguments: f.arguments } };
  });
  talk.push({ role: "assistant", content, tool_calls: calls });
  for (const call of calls) talk.push({ role: "tool", tool_call_id: call.id, content: results[call.function.name] });
  return told(completion);
}

async function broken() {
  const pieces = [];
  try {
    return { pieces, stop: told(await streamed(pieces)).stop };
  } catch (error) {
    return { pieces, raised: error.constructor.name };
  }
}

async function stream() {
  const pieces = [];
  return { pieces, ...told(await streamed(pieces)) };
}

await tell("models", async () => (await client.models.list()).data.map((model) => model.id));
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
