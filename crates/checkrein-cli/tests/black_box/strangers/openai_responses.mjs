// OpenAI's own client for Node, with Responses.

import { BASE, FIRST, SECOND, TOOLS, end, sdk, tell } from "./told.mjs";

const { default: OpenAI } = await sdk("openai");
const client = new OpenAI({ baseURL: `${BASE}/node/v1`, apiKey: "nobody's" });
const tools = Object.entries(TOOLS).map(([name, schema]) => {
  return { type: "function", name, description: name, parameters: schema, strict: false };
});
const talk = [{ role: "user", content: "What is there?" }];
const request = (more) => ({ model: "m", input: talk, tools, store: false, ...more });
const functions = (response) => response.output.filter((item) => item.type === "function_call");

function told(response) {
  const text = response.output
    .filter((item) => item.type === "message")
    .flatMap((item) => item.content.map((part) => part.text))
    .join("");
  const calls = functions(response).map((item) => [item.name, JSON.parse(item.arguments)]);
  const stop = response.incomplete_details?.reason ?? response.status;
  return { text, calls, stop, usage: [response.usage.input_tokens, response.usage.output_tokens] };
}

const whole = (more) => client.responses.create(request(more));

async function streamed(pieces) {
  const stream = client.responses.stream(request());
  stream.on("response.output_text.delta", (event) => pieces.push(event.delta));
  return stream.finalResponse();
}

function answered(response, results) {
  for (const { parsed_arguments, ...item } of response.output) talk.push(item);
  for (const item of functions(response)) {
    talk.push({ type: "function_call_output", call_id: item.call_id, output: results[item.name] });
  }
  return told(response);
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
await tell("whole", async () => told(await whole({ instructions: "Be exact." })));
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
