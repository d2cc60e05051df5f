"""OpenAI's own client for Python, with Responses."""

import json

from told import BASE, FIRST, SECOND, TOOLS, calls, case, end

import openai

client = openai.OpenAI(base_url=f"{BASE}/python/v1", api_key="nobody's")
tools = [{"type": "function", "name": name, "description": name, "parameters": schema} for name, schema in TOOLS.items()]
talk = [{"role": "user", "content": "What is there?"}]


def told(response):
    found = calls((item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call")
    stop = response.incomplete_details.reason if response.incomplete_details else response.status
    usage = [response.usage.input_tokens, response.usage.output_tokens]
    return {"text": response.output_text, "calls": found, "stop": stop, "usage": usage}


def whole(**more):
    return client.responses.create(model="m", input=talk, tools=tools, store=False, **more)


def streamed(pieces):
    with client.responses.stream(model="m", input=talk, tools=tools) as stream:
        pieces.extend(event.delta for event in stream if event.type == "response.output_text.delta")
        return stream.get_final_response()


def answered(response, results):
    talk.extend(item.to_dict() for item in response.output)
    for item in response.output:
        if item.type == "function_call":
            talk.append({"type": "function_call_output", "call_id": item.call_id, "output": results[item.name]})
    return told(response)


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
case("whole", lambda: told(whole(instructions="Be exact.")))
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
