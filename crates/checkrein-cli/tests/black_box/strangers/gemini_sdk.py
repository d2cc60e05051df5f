"""Google's own client for Python."""

from told import BASE, FIRST, SECOND, TOOLS, calls, case, end

from google import genai
from google.genai import types

retry = types.HttpRetryOptions(attempts=3, initial_delay=1.0, max_delay=2.0)
options = types.HttpOptions(base_url=f"{BASE}/python", retry_options=retry)
client = genai.Client(api_key="nobody's", http_options=options)
functions = [
    types.FunctionDeclaration(name=name, description=name, parameters_json_schema=schema) for name, schema in TOOLS.items()
]
config = types.GenerateContentConfig(
    system_instruction="Be exact.",
    tools=[types.Tool(function_declarations=functions)],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
talk = [types.Content(role="user", parts=[types.Part(text="What is there?")])]


def told(chunks):
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    text = "".join(part.text or "" for part in parts)
    found = calls((part.function_call.name, part.function_call.args) for part in parts if part.function_call)
    last = chunks[-1]
    usage = [last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count]
    reason = last.candidates[0].finish_reason
    return {"text": text, "calls": found, "stop": reason and reason.value, "usage": usage}


def whole():
    return [client.models.generate_content(model="m", contents=talk, config=config)]


def streamed():
    return list(client.models.generate_content_stream(model="m", contents=talk, config=config))


def answered(chunks, results):
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    talk.append(types.Content(role="model", parts=parts))
    back = [
        types.Part(function_response=types.FunctionResponse(
            id=part.function_call.id, name=part.function_call.name, response={"output": results[part.function_call.name]}))
        for part in parts if part.function_call
    ]
    talk.append(types.Content(role="user", parts=back))
    return told(chunks)


def broken():
    pieces, last = [], None
    try:
        for chunk in client.models.generate_content_stream(model="m", contents=talk, config=config):
            pieces.append(chunk.text)
            last = chunk
        reason = last.candidates[0].finish_reason
        return {"pieces": pieces, "stop": reason and reason.value}
    except Exception as error:
        return {"pieces": pieces, "raised": type(error).__name__}


def stream():
    chunks = streamed()
    return {"pieces": [chunk.text for chunk in chunks if chunk.text], **told(chunks)}


case("models", lambda: [model.name.removeprefix("models/") for model in client.models.list()])
case("whole", lambda: told(whole()))
case("streamed", stream)
case("calls", lambda: answered(whole(), FIRST))
case("results", lambda: told(whole()))
case("streamed_calls", lambda: answered(streamed(), SECOND))
case("streamed_results", lambda: told(streamed()))
case("busy", lambda: told(whole()))
case("wrong", lambda: told(whole()))
case("cut", broken)
case("ended", broken)
case("garbage", broken)
case("length", lambda: told(whole()))
case("exhausted", lambda: told(whole()))
end()
