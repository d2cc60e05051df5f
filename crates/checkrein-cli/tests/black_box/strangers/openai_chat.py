"""OpenAI's own client for Python, with Chat Completions."""

import json

from told import BASE, FIRST, SECOND, TOOLS, calls, case, end

import openai

client = openai.OpenAI(base_url=f"{BASE}/python/v1", api_key="nobody's")
tools = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}
    for name, schema in TOOLS.items()
]
talk = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "What is there?"}]


def told(completion):
    choice = completion.choices[0]
    found = calls((c.function.name, json.loads(c.function.arguments)) for c in choice.message.tool_calls or [])
    usage = completion.usage and [completion.usage.prompt_tokens, completion.usage.completion_tokens]
    return {"text": choice.message.content or "", "calls": found, "stop": choice.finish_reason, "usage": usage}


def whole():
    return client.chat.completions.create(model="m", messages=talk, tools=tools)


def streamed(pieces):
    options = {"include_usage": True}
    with client.chat.completions.stream(model="m", messages=talk, tools=tools, stream_options=options) as stream:
        pieces.extend(event.delta for event in stream if event.type == "content.delta" and event.delta)
        return stream.get_final_completion()


def answered(completion, results):
    message = completion.choices[0].message
    found = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
             for c in message.tool_calls]
    talk.append({"role": "assistant", "content": message.content, "tool_calls": found})
    for call in message.tool_calls:
        talk.append({"role": "tool", "tool_call_id": call.id, "content": results[call.function.name]})
    return told(completion)


def broken():
    pieces = []
    try:
        return {"pieces": pieces, "stop": told(streamed(pieces))["stop"]}
    except Exception as error:
        return {"pieces": pieces, "raised": type(error).__name__}


def stream():
    pieces = []
    return {"pieces": pieces, **told(streamed(pieces))}


case("models", lambda: [model.id for model in client.models.list()])
case("whole", lambda: told(whole()))
case("streamed", stream)
case("calls", lambda: answered(whole(), FIRST))
case("results", lambda: told(whole()))
case("streamed_calls", lambda: answered(streamed([]), SECOND))
case("streamed_results", lambda: told(streamed([])))
case("busy", lambda: told(whole()))
case("wrong", lambda: told(whole()))
case("cut", broken)
case("ended", broken)
case("garbage", broken)
case("length", lambda: told(whole()))
case("exhausted", lambda: told(whole()))
end()
