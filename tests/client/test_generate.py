"""`generate` renders, samples, checks and parses a turn, with any renderer and client."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Mapping
from typing import Any

import httpx
import openai
import pytest

from renderers import EXAMPLE_MODEL, RendererPool, create_renderer, load_tokenizer
from renderers.client import InferenceClient, generate
from renderers.client import turns as turns_module
from renderers.client.context_length import context_lengths
from renderers.core.completions import ParsedResponse, ParsedToolCall, ToolCallParseStatus
from renderers.core.tokens import MultiModalData, PlaceholderRange, RenderedTokens
from renderers.errors import MalformedGenerateResponseError, MediaError, OverlongPromptError
from tests.support.scripted_server import Reply, ScriptedServer, serve

HI = [{"role": "user", "content": "Hi"}]
ECHO = [{"type": "function", "function": {"name": "echo", "parameters": {"type": "object", "properties": {}}}}]
RESULT_KEYS = """
request_id usage prompt_ids renderer_prompt_ids mm_placeholders completion_ids completion_logprobs content
reasoning_content tool_calls finish_reason reasoning_complete routed_experts sampling_mask multi_modal_data
prompt_attribution weight_versions completion_top_ids completion_top_logprobs
""".split()

RENDERER = create_renderer(load_tokenizer(EXAMPLE_MODEL))


def encode(text: str) -> list[int]:
    return RENDERER.tokenizer.encode(text, add_special_tokens=False)


def run(server: ScriptedServer, *, renderer: Any = RENDERER, messages: Any = HI, **options: Any) -> dict[str, Any]:
    """Generate with an `AsyncOpenAI` client."""

    async def call() -> dict[str, Any]:
        async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="key", max_retries=0) as client:
            return await generate(client=client, renderer=renderer, messages=messages, model="test-model", **options)

    return asyncio.run(call())


class MinimalRenderer:
    """A renderer with the methods of the protocol and nothing else."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    @property
    def is_prefix_stable(self) -> bool:
        return True

    def render(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> RenderedTokens:
        assert add_generation_prompt
        return RenderedTokens(token_ids=[1, 2, 3])

    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]:
        return [1, 2, 3]

    def parse_response(self, token_ids: Any, *, tools: Any = None, prompt_ids: Any = None) -> ParsedResponse:
        self.threads.add(threading.get_ident())
        return ParsedResponse(f"{token_ids} after {prompt_ids}")

    def bridge_to_next_turn(self, prompt: Any, completion: Any, new: Any, *, tools: Any = None) -> None:
        return None

    def get_stop_token_ids(self) -> list[int]:
        self.threads.add(threading.get_ident())
        return [99]


@pytest.mark.parametrize("format_name", ["vllm-0.31", "vllm-0.32"])
def test_a_turn_with_a_tool_call_is_sampled_and_parsed(format_name: str) -> None:
    ids = encode('<|think|>Look.<|/think|><|call|>{"name": "echo", "arguments": {}}<|/call|><|end|>')
    with serve(ScriptedServer([Reply(ids)], formats=[format_name])) as server:
        result = run(server, tools=ECHO, sampling_params={"temperature": 0.5, "max_tokens": 99})
    prompt = RENDERER.render_ids(HI, tools=ECHO, add_generation_prompt=True)
    assert set(result) == set(RESULT_KEYS)
    assert server.samples == [
        {
            "model": "test-model",
            "token_ids": prompt,
            "sampling_params": {
                "temperature": 0.5,
                "max_tokens": 99,
                "stop_token_ids": RENDERER.get_stop_token_ids(),
                "logprobs": 1,
                "skip_special_tokens": False,
            },
        }
    ]
    assert (result["prompt_ids"], result["completion_ids"]) == (prompt, ids)
    assert result["completion_logprobs"] == Reply(ids).logprob_list()
    assert (result["reasoning_content"], result["finish_reason"]) == ("Look.", "tool_calls")
    assert [(call.name, call.status) for call in result["tool_calls"]] == [("echo", ToolCallParseStatus.OK)]
    assert result["prompt_attribution"].token_ids == prompt
    assert result["request_id"] == "generate-tokens-scripted"
    versions = [{"version": "default", "start": 0, "end": len(ids)}]
    assert result["weight_versions"] == (versions if format_name == "vllm-0.32" else None)


def test_a_renderer_with_only_the_methods_of_the_protocol_works() -> None:
    with serve(ScriptedServer([Reply([7, 8])])) as server:
        result = run(server, renderer=MinimalRenderer())
    assert result["content"] == "[7, 8] after [1, 2, 3]"
    assert server.samples[0]["sampling_params"]["stop_token_ids"] == [99]


def test_a_custom_renderer_runs_in_the_event_loop_and_a_pool_in_a_thread() -> None:
    bare, pooled = MinimalRenderer(), MinimalRenderer()
    long = [{"role": "user", "content": "x" * 1_000_000}]
    with serve(ScriptedServer([Reply([7]), Reply([7])])) as server:
        run(server, renderer=bare, messages=long)
        run(server, renderer=RendererPool(lambda: pooled, 1), prompt_ids=[1])
    assert bare.threads == {threading.get_ident()}
    assert threading.get_ident() not in pooled.threads


def test_a_long_conversation_gives_the_same_result_from_a_thread() -> None:
    long = [{"role": "user", "content": "words and words " * 10_000}]
    with serve(ScriptedServer([Reply(encode("Hello" * 2_000))], max_model_len=None)) as server:
        result = run(server, messages=long)
    assert result["prompt_ids"] == RENDERER.render_ids(long, add_generation_prompt=True)
    assert result["content"] == "Hello" * 2_000


def test_prebuilt_ids_are_sent_without_rendering_and_with_their_attribution() -> None:
    attribution = RenderedTokens(token_ids=[11, 12])
    with serve(ScriptedServer([Reply([7])])) as server:
        result = run(server, prompt_ids=(11, 12), prompt_attribution=attribution, messages=None)
    assert server.samples[0]["token_ids"] == [11, 12]
    assert result["prompt_attribution"] is attribution
    assert result["prompt_ids"] == [11, 12]


def test_other_options_are_carried_to_the_engine() -> None:
    with serve(ScriptedServer([Reply([7])])) as server:
        run(server, cache_salt="step-3", priority=2, extra_headers={"X-Session-ID": "s1"})
    assert (server.samples[0]["cache_salt"], server.samples[0]["priority"]) == ("step-3", 2)
    assert server.requests[-1].headers["x-session-id"] == "s1"
    assert server.requests[-1].headers["authorization"] == "Bearer key"


def test_stop_tokens_of_the_caller_are_added_to_those_of_the_renderer() -> None:
    with serve(ScriptedServer([Reply([7])])) as server:
        run(server, sampling_params={"stop_token_ids": [5, *RENDERER.get_stop_token_ids()]})
    assert server.samples[0]["sampling_params"]["stop_token_ids"] == [*RENDERER.get_stop_token_ids(), 5]


def test_more_than_one_completion_is_refused() -> None:
    with serve(ScriptedServer([])) as server, pytest.raises(ValueError, match="samples one completion"):
        run(server, sampling_params={"n": 4})
    assert server.samples == []


def test_an_id_that_the_tokenizer_lacks_is_kept() -> None:
    with serve(ScriptedServer([Reply([*encode("Hi"), 151_935])])) as server:
        result = run(server)
    assert result["completion_ids"][-1] == 151_935
    assert result["content"] == "Hi"


@pytest.mark.parametrize(
    ("status", "finish", "promoted"),
    [
        (ToolCallParseStatus.OK, "stop", "tool_calls"),
        (ToolCallParseStatus.OK, "length", "length"),
        (ToolCallParseStatus.INVALID_JSON, "stop", "stop"),
        (ToolCallParseStatus.UNKNOWN_TOOL, "stop", "stop"),
    ],
)
def test_the_finish_reason_is_promoted_only_for_a_usable_call(
    status: ToolCallParseStatus, finish: str, promoted: str
) -> None:
    class Calling(MinimalRenderer):
        def parse_response(self, token_ids: Any, *, tools: Any = None, prompt_ids: Any = None) -> ParsedResponse:
            return ParsedResponse("", tool_calls=[ParsedToolCall(raw="", name="echo", status=status)])

    with serve(ScriptedServer([Reply([7], finish_reason=finish)])) as server:
        assert run(server, renderer=Calling())["finish_reason"] == promoted


# ==================
# Lengths
# ==================


def test_a_prompt_beyond_the_context_length_of_the_server_is_not_sent() -> None:
    with serve(ScriptedServer([], max_model_len=2)) as server, pytest.raises(OverlongPromptError) as caught:
        run(server, renderer=MinimalRenderer())
    assert str(caught.value) == "Prompt length (3) exceeds maximum context length (2)."
    assert (caught.value.prompt_len, caught.value.max_prompt_len) == (3, 2)
    assert server.samples == []


def test_a_server_that_is_started_again_can_have_a_longer_context(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ScriptedServer([Reply([7]), Reply([7])], max_model_len=2)

    async def call() -> None:
        await server.start()
        async with InferenceClient(server.base_url) as old:
            with pytest.raises(OverlongPromptError):
                await generate(client=old, renderer=MinimalRenderer(), messages=HI)
            await server.stop()
            server._max_model_len = 3
            async with server.running(), InferenceClient(server.base_url) as new:
                await generate(client=new, renderer=MinimalRenderer(), messages=HI)
                server._max_model_len = 2
                assert await new.context_length(max_age=-1.0) == 2
                server._max_model_len = 3
                monkeypatch.setattr(turns_module, "RECENT", -1.0)
                await generate(client=old, renderer=MinimalRenderer(), messages=HI)

    asyncio.run(call())
    assert len(server.samples) == 2


def test_an_explicit_length_is_checked_without_a_lookup() -> None:
    with serve(ScriptedServer([Reply([7])], max_model_len=2)) as server:
        run(server, renderer=MinimalRenderer(), max_prompt_len=3)
        with pytest.raises(OverlongPromptError, match=r"\(3\) exceeds maximum context length \(1\)"):
            run(server, renderer=MinimalRenderer(), max_prompt_len=1)
    assert [request.path for request in server.requests] == ["/inference/v1/generate"]


@pytest.mark.parametrize(
    "models",
    [
        Reply(status=500),
        Reply(raw=b"<html>", headers={"Content-Type": "text/html"}),
        Reply(raw=b"[]"),
        Reply(raw=b"{"),
        Reply(raw=b'{"data": []}'),
    ],
)
def test_generation_goes_on_without_a_context_length(models: Reply, caplog: pytest.LogCaptureFixture) -> None:
    with serve(ScriptedServer([Reply([7]), Reply([8])], models=models)) as server:
        assert run(server)["completion_ids"] == [7]
        assert run(server)["completion_ids"] == [8]
    assert [request.method for request in server.requests] == ["GET", "POST", "POST"]
    warnings = [record.getMessage() for record in caplog.records if record.name == "renderers.client"]
    assert len(warnings) == 1
    assert "the lengths of prompts for test-model are not checked" in warnings[0]
    assert context_lengths[f"{server.base_url}/v1/", "test-model"] is None


# ==================
# Faults
# ==================


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(status=400, message="Token id 999999 is out of vocabulary"), openai.BadRequestError),
        (Reply(status=500), openai.InternalServerError),
        (Reply(reset=True), openai.APIConnectionError),
    ],
)
def test_errors_of_the_openai_client_pass_unchanged(reply: Reply, kind: type[Exception]) -> None:
    with serve(ScriptedServer([reply])) as server, pytest.raises(kind) as caught:
        run(server)
    if reply.status == 400:
        assert "Token id 999999 is out of vocabulary" in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply([7, 8], [-0.5]), r"completion token count \(2\) does not match logprob count \(1\)"),
        (Reply([7], choice={"logprobs": None}), r"choice\.logprobs must be an object, not None"),
        (Reply([7], [float("nan")]), r"content\[0\]\.logprob must be finite"),
        (Reply([7], [-9999.0]), r"content\[0\]\.logprob is -9999.0, which does not contain sampling evidence"),
        (Reply([7], [0.5]), r"content\[0\]\.logprob must not be positive"),
        (Reply([7], choice={"token_ids": [8]}), r"content\[0\]\.token_id must be 8, not 7"),
        (Reply([7], choice={"token_ids": [-1]}), r"choice\.token_ids\[0\] must be a token id, not -1"),
        (Reply([7], choice={"token_ids": [True]}), r"choice\.token_ids\[0\] must be a token id, not True"),
        (Reply([7], choice={"token_ids": "7"}), r"choice\.token_ids must be an array, not a str"),
        (Reply([7], choice={"finish_reason": 3}), r"choice\.finish_reason must be a string"),
        (Reply([7], payload={"choices": []}), "choices must have one entry, not 0"),
        (Reply([7], payload={"prompt_token_ids": [1, 2]}), "the engine changed the prompt"),
        (Reply(raw=b'{"choices": ['), "the response must be JSON"),
        (Reply(raw=b"[" * 100_000), "the response must be JSON"),
        (Reply(raw=b"[]"), "the response must be an object"),
    ],
)
def test_a_malformed_response_is_an_error_before_anything_is_parsed(reply: Reply, text: str) -> None:
    class Unparsed(MinimalRenderer):
        def parse_response(self, *args: Any, **kwargs: Any) -> ParsedResponse:
            raise AssertionError("a malformed response was parsed")

    with serve(ScriptedServer([reply])) as server, pytest.raises(MalformedGenerateResponseError, match=text) as caught:
        run(server, renderer=Unparsed())
    url = f"{server.base_url}/inference/v1/generate"
    assert caught.value.url == url
    assert str(caught.value).startswith(f"{url}: ")


# ==================
# Fields of engines
# ==================


def test_top_logprobs_do_not_depend_on_the_sampled_token() -> None:
    top = [{7: -3.0, 5: -0.5, 6: -1.5, 4: -2.0}, {6: -0.4, 5: -2.0, 4: -2.0, 3: -2.5}]
    with serve(ScriptedServer([Reply([7, 6], [-3.0, -0.4], top=top)])) as server:
        result = run(server, sampling_params={"logprobs": 2})
    assert server.samples[0]["sampling_params"]["logprobs"] == 4
    assert server.samples[0]["sampling_params"]["extra_args"] == {"prl_compact_logprobs": True}
    assert result["completion_logprobs"] == [-3.0, -0.4]
    # At the second position, two tokens tie for the second place.
    assert result["completion_top_ids"] == [[5, 6], [6]]
    assert result["completion_top_logprobs"] == [[-0.5, -1.5], [-0.4]]


def test_expert_data_of_both_shapes_are_returned_as_they_are() -> None:
    data = base64.b64encode(bytes(range(8))).decode()
    packed = Reply([7], choice={"routed_experts": {"data": data, "shape": [2, 2, 2]}})
    numpy_file = Reply([7], choice={"routed_experts": "k05VTVBZ"})
    with serve(ScriptedServer([packed, numpy_file])) as server:
        first, second = run(server), run(server)
    assert isinstance(first["routed_experts"]["data"], memoryview)
    assert bytes(first["routed_experts"]["data"]).decode() == data
    assert first["routed_experts"]["shape"] == [2, 2, 2]
    assert second["routed_experts"] == "k05VTVBZ"


# ==================
# Media
# ==================


class MediaRenderer(MinimalRenderer):
    supports_process_multimodal = True

    def render(
        self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False, process_multimodal: bool = True
    ) -> RenderedTokens:
        return RenderedTokens(token_ids=[1, 2, 3])


def test_an_engine_that_processes_images_gets_them_and_returns_the_expanded_prompt() -> None:
    content = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,a"}}]
    reply = Reply([7], payload={"prompt_token_ids": [1, 2, 2, 3], "mm_placeholders": {"image": []}})
    with serve(ScriptedServer([reply], max_model_len=2)) as server:
        result = run(
            server,
            renderer=MediaRenderer(),
            messages=[{"role": "user", "content": content}],
            process_multimodal=False,
        )
    assert server.samples[0]["content_parts"] == [{"type": "image_url", "url": "data:image/png;base64,a"}]
    assert server.samples[0]["return_token_ids"] is True
    assert (result["prompt_ids"], result["renderer_prompt_ids"]) == ([1, 2, 2, 3], [1, 2, 3])
    assert result["mm_placeholders"] == {"image": []}
    assert result["content"] == "[7] after [1, 2, 2, 3]"


@pytest.mark.parametrize("missing", ["prompt_token_ids", "mm_placeholders"])
def test_an_expanded_prompt_must_be_returned(missing: str) -> None:
    payload: dict[str, Any] = {"prompt_token_ids": [1], "mm_placeholders": {}, missing: None}
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,a"}}]}]
    with (
        serve(ScriptedServer([Reply([7], payload=payload)])) as server,
        pytest.raises(MalformedGenerateResponseError, match=missing),
    ):
        run(server, renderer=MediaRenderer(), messages=messages, process_multimodal=False)


def test_a_renderer_without_the_option_cannot_leave_images_to_the_engine() -> None:
    with serve(ScriptedServer([])) as server, pytest.raises(NotImplementedError, match="process_multimodal=False"):
        run(server, renderer=MinimalRenderer(), process_multimodal=False)


def media_data(item: Any) -> MultiModalData:
    places = {"image": [PlaceholderRange(offset=1, length=2)]}
    return MultiModalData(mm_hashes={"image": ["abc"]}, mm_placeholders=places, mm_items={"image": [item]})


def test_encoded_features_are_carried_to_the_engine() -> None:
    data = media_data("encoded")
    with serve(ScriptedServer([Reply([7])])) as server:
        result = run(server, prompt_ids=[1, 2, 2, 3], multi_modal_data=data)
    assert server.samples[0]["features"] == {
        "mm_hashes": {"image": ["abc"]},
        "mm_placeholders": {"image": [{"offset": 1, "length": 2}]},
        "kwargs_data": {"image": ["encoded"]},
    }
    assert result["multi_modal_data"] is data


def test_features_that_are_not_encoded_are_an_error_that_names_the_item() -> None:
    with serve(ScriptedServer([])) as server, pytest.raises(MediaError, match=r"mm_items\.image\.0 is a dict"):
        run(server, prompt_ids=[1, 2], multi_modal_data=media_data({"pixel_values": [0.0]}))


def test_tools_are_refused_for_a_renderer_that_drops_them() -> None:
    class WithoutTools(MinimalRenderer):
        supports_tools = False

    with serve(ScriptedServer([])) as server, pytest.raises(ValueError, match="does not support tools"):
        run(server, renderer=WithoutTools(), tools=ECHO)


@pytest.mark.parametrize("client", [openai.OpenAI(api_key="key"), object(), "http://localhost:8000"])
def test_another_client_is_an_error(client: Any) -> None:
    with pytest.raises(TypeError, match="client must be an InferenceClient or an AsyncOpenAI client, not"):
        asyncio.run(generate(client=client, renderer=RENDERER, messages=HI))


def test_messages_and_tools_can_be_iterators() -> None:
    ids = encode('<|call|>{"name": "echo", "arguments": {}}<|/call|><|end|>')
    with serve(ScriptedServer([Reply(ids)])) as server:
        result = run(server, messages=iter(HI), tools=iter(ECHO))
    assert result["prompt_ids"] == RENDERER.render_ids(HI, tools=ECHO, add_generation_prompt=True)
    assert result["finish_reason"] == "tool_calls"


def test_an_object_with_the_methods_of_the_openai_client_is_enough() -> None:
    class Client:
        base_url = "http://fake-host:8000/v1"

        def __init__(self) -> None:
            self.posts: list[Any] = []

        async def post(self, url: str, *, cast_to: Any, body: Mapping[str, Any]) -> httpx.Response:
            self.posts.append((url, cast_to))
            entry = {"token_id": 7, "logprob": -0.5}
            choice = {"token_ids": [7], "finish_reason": "stop", "logprobs": {"content": [entry]}}
            return httpx.Response(200, content=json.dumps({"choices": [choice]}).encode())

    client = Client()
    result = asyncio.run(generate(client=client, renderer=MinimalRenderer(), messages=HI, model="m"))
    assert client.posts == [("http://fake-host:8000/inference/v1/generate", httpx.Response)]
    assert (result["completion_ids"], result["request_id"], result["usage"]) == ([7], "", None)
