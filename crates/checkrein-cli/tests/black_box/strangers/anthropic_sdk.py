"""Anthropic's own client for Python."""

from told import BASE, FIRST, SECOND, TOOLS, calls, case, end

import anthropic

client = anthropic.Anthropic(base_url=f"{BASE}/python", api_key="nobody's")
tools = [{"name": name, "description": name, "input_schema": schema} for name, schema in TOOLS.items()]
talk = [{"role": "user", "content": "What is there?"}]


def told(message):
    text = "".join(block.text for block in message.content if block.type == "text")
    found = calls((block.name, block.input) for block in message.content if block.type == "tool_use")
    usage = [message.usage.input_tokens, message.usage.output_tokens]
    return {"text": text, "calls": found, "stop": message.stop_reason, "usage": usage}


def whole(**more):
    return client.messages.create(model="m", max_tokens=100, messages=talk, tools=tools, **more)


def streamed():
    with client.messages.stream(model="m", max_tokens=100, messages=talk, tools=tools) as stream:
        pieces = list(stream.text_stream)
        return pieces, stream.get_final_message()


def answered(message, results):
    talk.append({"role": "assistant", "content": message.content})
    blocks = [block for block in message.content if block.type == "tool_use"]
    content = [{"type": "tool_result", "tool_use_id": block.id, "content": results[block.name]} for block in blocks]
    talk.append({"role": "user", "content": content})
    return told(message)


def broken():
    pieces = []
    try:
        with client.messages.stream(model="m", max_tokens=100, messages=talk) as stream:
            pieces.extend(stream.text_stream)
            return {"pieces": pieces, "stop": stream.get_final_message().stop_reason}
    except Exception as error:
        return {"pieces": pieces, "raised": type(error).__name__}


def stream():
    pieces, message = streamed()
    return {"pieces": pieces, **told(message)}


case("models", lambda: [model.id for model in client.models.list()])
case("whole", lambda: told(whole(system="Be exact.")))
case("streamed", stream)
case("calls", lambda: answered(whole(), FIRST))
case("results", lambda: told(whole()))
case("streamed_calls", lambda: answered(streamed()[1], SECOND))
case("streamed_results", lambda: told(streamed()[1]))
case("busy", lambda: told(whole()))
case("wrong", lambda: told(whole()))
case("cut", broken)
case("ended", broken)
case("garbage", broken)
case("length", lambda: told(whole()))
case("exhausted", lambda: told(whole()))
end()
