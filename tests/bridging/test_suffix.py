"""The text that new messages add is the one of a full render, whatever the template does to their texts."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, ChatRenderer, create_renderer, load_tokenizer

PLAIN = """{% for m in messages %}{{ "<|turn|>" + m.role + "\\n" }}
{%- if m.role == "assistant" %}{{ m.content }}{% else %}[BODY]{% endif %}{{ "<|end|>\\n" }}
{%- endfor %}{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""
ASK = {"role": "user", "content": "Hi"}
BODIES = [
    "{{ m.content }}",
    "{{ m.content | trim }}",
    "{{ m.content.rstrip('\\n') }}",
    "{{ m.content | tojson }}",
    "{{ m.content.split('</think>')[-1] }}",
    "{{ m.content | replace('e', 'a') }}",
    "{{ m.content[:5] }}",
    "{{ m.content | indent(2) }}",
    "{{ m.content | e }}",
    "{{ m }}",
    "{{ m | string }}",
    "{{ m.content }}{{ m.tags | join(',') }}",
    "{{ m.content }}{% if persona in m.content %}[P]{% endif %}",
    "{{ m.content }}{% if m.content.startswith(persona) %}[P]{% endif %}",
    "{{ m.content.replace(persona, 'X') }}",
    "{{ m.content.split(persona)[0] }}",
    "{{ m.content }}{% if m.content | lower in ['stop'] %}[P]{% endif %}",
    "{{ m.content }}{% if m.content | upper in ('STOP', 'X') %}[P]{% endif %}",
    "{{ m.content }}{% if m.content.strip().lower() in ['stop', 'ok'] %}[P]{% endif %}",
    "{{ m.content }}{% for k, v in m.items() %}{% if v == 'stop' %}[P]{% endif %}{% endfor %}",
    "{{ m.content }}{% for k, v in m | items %}{% if v.startswith('Ada') %}[P]{% endif %}{% endfor %}",
    "{{ m.content }}{% for v in m.values() %}{% if 'stop' in v %}[P]{% endif %}{% endfor %}",
    "{{ m.content }}{% if m.content | length > 1 %}[P]{% endif %}",
    "{{ m.content }}{% if m.content | length > 3 %}[P]{% endif %}",
    "{{ m.content }}{% if m.content.split('x')[0] | length == 2 %}[P]{% endif %}",
    "{{ m.content.split('\\n') | length }}{{ m.content }}",
]
CONTENTS = [
    "Ada is here", "stop", "STOP", " Stop\n", "hi\n\n", "   ", "a     ", "", "</think>x", "two\nlines", "é 你好 <b>",
    "hi", "hix", "probetext0", "\n\nend",
]  # fmt: skip


def renderer_for(body: str) -> ChatRenderer:
    template = PLAIN.replace("[BODY]", body)
    return create_renderer(
        load_tokenizer(EMBEDDED),
        chat_template=template,
        chat_template_kwargs={"persona": "Ada"} if "persona" in template else None,
        verify=False,
        on_loss="ignore",
    )


def difference(renderer: ChatRenderer, message: dict[str, Any]) -> tuple[str, str] | None:
    """Return the end of a bridge and of a render of all messages if the bridge claims to match it and does not."""
    tokenizer = renderer.tokenizer
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    bridge = renderer.bridge(prompt, tokenizer.encode("Yes.<|end|>"), [message])
    whole = renderer.render_ids([ASK, {"role": "assistant", "content": "Yes."}, message], add_generation_prompt=True)
    if not isinstance(bridge, Bridge) or not bridge.matches_rerender or bridge.tokens.token_ids == whole:
        return None
    return tokenizer.decode(bridge.tokens.token_ids[-30:]), tokenizer.decode(whole[-30:])


@pytest.mark.parametrize("body", BODIES)
def test_a_bridge_of_any_content_is_the_render_of_all_messages(body: str) -> None:
    renderer = renderer_for(body)
    # In both orders: an earlier bridge must not change a later one.
    for content in (*CONTENTS, *reversed(CONTENTS)):
        message = {"role": "user", "content": content, "tags": content[:2]}
        assert difference(renderer, message) is None, content


def test_most_of_these_templates_are_bridged() -> None:
    bridged = 0
    for body in BODIES:
        renderer = renderer_for(body)
        prompt = renderer.render_ids([ASK], add_generation_prompt=True)
        bridged += isinstance(
            renderer.bridge(prompt, renderer.tokenizer.encode("Yes.<|end|>"), [{"role": "user", "content": "Bye"}]),
            Bridge,
        )
    assert bridged > 0.8 * len(BODIES)
