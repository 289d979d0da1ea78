"""A renderer works in a child that was forked while another thread used it."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer, load_tokenizer
from renderers.templating import ChatTemplate

SECONDS = 60
ASK: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]


def use(renderer: ChatRenderer) -> list[int]:
    """Call the methods that compute something on first use. Parsing comes first: it runs the template most."""
    completion = renderer.tokenizer.encode("Hello!<|end|>")
    renderer.parse_response(completion)
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    bridged = renderer.bridge_to_next_turn(prompt, completion, ASK)
    assert bridged is not None
    return bridged.token_ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_while_a_thread_learns_the_format_can_render_parse_and_bridge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, release = threading.Event(), threading.Event()
    parent, run = os.getpid(), ChatTemplate.run

    def slow_run(self: ChatTemplate, *args: Any, **options: Any) -> Any:
        if os.getpid() == parent:
            started.set()
            release.wait(SECONDS)
        return run(self, *args, **options)

    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    monkeypatch.setattr(ChatTemplate, "run", slow_run)
    first = create_renderer(tokenizer, chat_template_kwargs={"enable_thinking": True})
    thread = threading.Thread(target=use, args=(first,))
    thread.start()
    assert started.wait(SECONDS)

    def child() -> None:
        sys.exit(0 if use(create_renderer(tokenizer)) else 1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(SECONDS)
    hung = process.is_alive()
    if hung:
        process.kill()
    release.set()
    thread.join()
    assert not hung
    assert process.exitcode == 0
