"""Render conversations with OpenAI's encoder. Runs in its own environment, with `openai-harmony` alone.

Reads a JSON list of jobs from standard input: messages in the form of OpenAI's API, tools, options, and whether a
generation prompt follows. Writes a list of token ids for each. The encoder takes messages in channels, so this decides
which these are, independently of the program that is tested.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from openai_harmony import (  # type: ignore[import-not-found, unused-ignore]
    Author,
    Conversation,
    DeveloperContent,
    Message,
    ReasoningEffort,
    RenderConversationConfig,
    Role,
    SystemContent,
    ToolDescription,
    load_harmony_encoding,
)

Data = dict[str, Any]
BUILTIN = ("python", "browser.search", "browser.open", "browser.find")


def main() -> None:
    """Render the jobs of standard input."""
    encoding = load_harmony_encoding("HarmonyGptOss")
    json.dump([render(encoding, job) for job in json.load(sys.stdin)], sys.stdout)


def render(encoding: Any, job: Data) -> list[int]:
    """Return the ids of a job."""
    options, messages = job["options"], job["messages"]
    conversation = Conversation.from_messages([*prompt_messages(job), *chat_messages(job)])
    # The encoder drops analysis before the first final message only, so the worker drops the rest itself.
    config = RenderConversationConfig(auto_drop_analysis=bool(options.get("encoder_drops_analysis")))
    if job["prompt"]:
        return list(encoding.render_conversation_for_completion(conversation, Role.ASSISTANT, config))
    if messages[-1]["role"] == "assistant":
        return list(encoding.render_conversation_for_training(conversation, config))
    return list(encoding.render_conversation(conversation, config))


def prompt_messages(job: Data) -> list[Any]:
    """Return the system message, and the developer message with the tools."""
    options, made = job["options"], []
    if options.get("use_system_prompt", True):
        content = SystemContent.new().with_conversation_start_date(options["conversation_start_date"])
        content = content.with_reasoning_effort(ReasoningEffort(options.get("reasoning_effort", "medium").capitalize()))
        if "model_identity" in options:
            content = content.with_model_identity(options["model_identity"])
        if "knowledge_cutoff" in options:
            content = content.with_knowledge_cutoff(options["knowledge_cutoff"])
        for name in options.get("builtin_tools", ()):
            content = content.with_browser_tool() if name == "browser" else content.with_python_tool()
        made.append(Message.from_role_and_content(Role.SYSTEM, content))
    first = job["messages"][0]
    instructions = text_of(first) if first["role"] in ("system", "developer") else ""
    if instructions or job["tools"]:
        developer = DeveloperContent.new()
        if instructions:
            developer = developer.with_instructions(instructions)
        if job["tools"]:
            developer = developer.with_function_tools([describe(tool) for tool in job["tools"]])
        made.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    return made


def describe(tool: Data) -> Any:
    """Return the description of a tool."""
    function = tool.get("function", tool)
    return ToolDescription.new(function["name"], function.get("description", ""), function.get("parameters"))


def chat_messages(job: Data) -> list[Any]:
    """Return all other messages."""
    messages, made = job["messages"], []
    names: dict[str, str] = {}
    functions = {tool.get("function", tool)["name"] for tool in job["tools"] or ()}
    finals = [n for n, m in enumerate(messages) if m["role"] == "assistant" and not m.get("tool_calls")]
    if finals and finals[-1] == len(messages) - 1 and not job["prompt"]:
        finals.pop()
    drops = job["options"].get("auto_drop_analysis", True) and not job["options"].get("encoder_drops_analysis")
    last_final = finals[-1] if finals and drops else -1
    for number, message in enumerate(messages):
        role, text = message["role"], text_of(message)
        if role in ("system", "developer"):
            if number and text:
                content = DeveloperContent.new().with_instructions(text)
                made.append(Message.from_role_and_content(Role.DEVELOPER, content))
        elif role == "user":
            made.append(Message.from_role_and_content(Role.USER, text))
        elif role == "tool":
            name = message.get("name") or names[message["tool_call_id"]]
            is_builtin = name in BUILTIN and name not in functions
            author = Author.new(Role.TOOL, name if is_builtin else f"functions.{name}")
            result = Message.from_author_and_content(author, text).with_recipient("assistant")
            made.append(result.with_channel("analysis" if is_builtin else "commentary"))
        else:
            if message.get("reasoning_content") and number > last_final:
                made.append(said(message["reasoning_content"], "analysis"))
            calls = message.get("tool_calls") or []
            if not calls or text:
                made.append(said(text, "commentary" if calls else "final"))
            for call in calls:
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                names[call["id"]] = name
                is_builtin = name in BUILTIN and name not in functions
                body = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                made.append(
                    said(body, "analysis" if is_builtin else "commentary")
                    .with_recipient(name if is_builtin else f"functions.{name}")
                    .with_content_type("code" if is_builtin else "<|constrain|>json")
                )
    return made


def said(text: str, channel: str) -> Any:
    """Return a message of the assistant."""
    return Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)


def text_of(message: Data) -> str:
    """Return the text of a message. The encoder would encode parts one by one."""
    content = message.get("content")
    return "".join(part["text"] for part in content) if isinstance(content, list) else content or ""


if __name__ == "__main__":
    main()
