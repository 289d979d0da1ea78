"""`import renderers` is light, and every public name can be imported, from any thread first."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import renderers
from renderers.configs import CONFIG_CLASSES
from renderers.family_renderers import RENDERER_REGISTRY

PACKAGE = Path(renderers.__file__).parent
MODULE_PATHS = sorted(path.stem for path in (PACKAGE / "compat" / "module_paths").glob("*.py") if path.stem[0] != "_")

RELEASE_0_1 = """
create_renderer create_renderer_pool load_tokenizer Renderer MultimodalRenderer RendererPool RenderedTokens
RenderedConversation RenderedTrainingSample ParsedResponse ParsedToolCall ToolCallParseStatus Message Content
ContentPart TextPart ThinkingPart ImagePart VideoPart ToolCall ToolCallFunction ToolSpec MultiModalData
PlaceholderRange Tokenizer OffsetTokenizer ChatTemplateTokenizer build_training_sample build_trajectory_step
attribute_text_segments trim_to_turn_close reject_assistant_in_extension extract_message_tool_names is_multimodal
merge_chat_template_kwargs template_field_names config_from_name custom_renderer_config load_custom_renderer
load_target MULTIMODAL_MODELS RendererConfig BaseRendererConfig AutoRendererConfig DefaultRendererConfig
CustomRendererConfig DefaultRenderer
""".split()
"""The top-level names of release 0.1. Those of its families follow."""

RELEASE_0_1_FAMILIES = """
DeepSeekR1 DeepSeekV3 DeepSeekV4 GLM45 GLM5 GLM51 GLM53 GptOss Gemma4 Hy3 Inkling KimiK2 KimiK25 LagunaM1 LagunaS21
LagunaXS2 LagunaXS21 Llama3 MiniMaxM2 Nemotron3 Nemotron3Ultra Nemotron35 PrimeQwen3 Qwen3 Qwen3VL Qwen35 Qwen36 Qwen38
""".split()

RELEASE_0_1_BASE = """
MODEL_RENDERER_MAP RENDERER_REGISTRY TRUSTED_REVISIONS AttributedTextSegments introduces_user_query
resolve_thinking_retention should_rerender_for_thinking_retention
""".split()
"""The names of `renderers.base` that release 0.1 had in addition."""

RELEASE_0_1_MODULES = """
deepseek_r1 deepseek_v3 deepseek_v4 default gemma4 glm45 glm5 gpt_oss hy3 inkling kimi_k2 kimi_k25 laguna_s21 laguna_xs2
llama_3 minimax_m2 nemotron3 parsers prime_qwen3 qwen3 qwen35 qwen36 qwen38 qwen3_vl
""".split()

OLD_NAMES = """
EMBEDDED FAMILIES MIRRORS TRUSTED_REVISIONS AttributedTextSegments Channel ChatTemplate CompletionState ContentDelta
SamplingConventions DefaultMultimodalRenderer Encoded Evidence Family ForeignTokenizer InjectedText Limits MarkerRead
ParseEvent ParsedPart PrefixStability ReasoningDelta Region SkippedText Source Span StateCall StopRead TextSkipped
Thought ToolCallDelta ToolCallRead Trace adopt_tokenizer
""".split()
"""Names that are no longer in `__all__`."""

IMPORTABLE = [
    *RELEASE_0_1,
    *OLD_NAMES,
    *renderers._HOME_OF_NAME,
    *(f"{family}{kind}" for family in RELEASE_0_1_FAMILIES for kind in ("Renderer", "RendererConfig")),
    *(config_class.__name__ for config_class in CONFIG_CLASSES.values()),
    *(renderer_class.__name__ for renderer_class in RENDERER_REGISTRY.values()),
]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_loads_only_the_standard_library() -> None:
    before = "import sys; before = set(sys.modules); "
    after = "import renderers; print(*(set(sys.modules) - before))"
    loaded = run(before + after).split()
    assert [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names] == ["renderers"]


def test_importing_the_configs_loads_nothing_but_pydantic() -> None:
    heavy = "numpy jinja2 tokenizers huggingface_hub httpx httpx2 openai transformers torch tiktoken".split()
    loaded = run("import sys, renderers.configs; print(*sys.modules)").split()
    assert "pydantic" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(heavy)


def test_a_renderer_without_a_config_needs_no_pydantic() -> None:
    code = """
import sys
from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL), verify=False)
prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
completion = renderer.tokenizer.encode("Hello!<|end|>")
renderer.render([{"role": "user", "content": "Hi"}])
renderer.parse_response(completion, prompt_ids=prompt)
assert renderer.bridge_to_next_turn(prompt, completion, [{"role": "user", "content": "Bye"}])
print("pydantic" in sys.modules, "renderers.configs" in sys.modules)
print(renderer.config.name, "pydantic" in sys.modules)
"""
    assert run(code).split() == ["False", "False", "default", "True"]


def test_loading_a_tokenizer_never_imports_transformers() -> None:
    code = (
        "import sys; from renderers import EXAMPLE_MODEL, load_tokenizer; load_tokenizer(EXAMPLE_MODEL).encode('a');"
        "print(*[name for name in ('transformers', 'torch', 'numpy', 'httpx', 'httpx2') if name in sys.modules])"
    )
    assert run(code).split() == []


@pytest.mark.parametrize("name", renderers.__all__)
def test_every_main_name_is_listed_and_can_be_imported(name: str) -> None:
    assert getattr(renderers, name) is not None
    assert name in dir(renderers)


@pytest.mark.parametrize("name", sorted({*IMPORTABLE}))
def test_every_other_public_name_can_be_imported(name: str) -> None:
    assert getattr(renderers, name) is not None


def test_dir_has_the_main_names_only() -> None:
    assert {name for name in dir(renderers) if not name.startswith("__")} == {*renderers.__all__} - {"__version__"}


def test_a_star_import_has_the_names_of_release_0_1() -> None:
    families = [f"{family}{kind}" for family in RELEASE_0_1_FAMILIES for kind in ("Renderer", "RendererConfig")]
    names = {*RELEASE_0_1, *families, "MalformedGenerateResponseError", "OverlongPromptError"}
    assert names <= set(run("from renderers import *; print(*globals())").split())


@pytest.mark.parametrize("name", ["no_such_name", "NoSuchRenderer", "NoSuchRendererConfig", "NoSuchError"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'renderers' has no attribute '{name}'"):
        getattr(renderers, name)


def test_type_checkers_see_the_names_of_the_home_table() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    seen = {(node.module, alias.name) for node in imports for alias in node.names}
    stars = {module for module, name in seen if name == "*"}
    homes = {(home, name) for name, home in renderers._HOME_OF_NAME.items() if home not in stars}
    assert {(module, name) for module, name in seen if name != "*"} == homes
    assert stars == set(renderers._HOME_OF_SUFFIX.values())
    renamed = {alias.name for node in imports for alias in node.names if alias.asname == alias.name}
    assert {name for _, name in homes} - {*renderers.__all__} == renamed


def test_the_old_name_of_the_example_model_is_an_alias() -> None:
    assert renderers.EMBEDDED is renderers.EXAMPLE_MODEL


@pytest.mark.parametrize("name", sorted({*RELEASE_0_1, *RELEASE_0_1_BASE, *renderers.__all__, "Qwen3Renderer"}))
def test_the_base_module_of_release_0_1_has_the_same_objects(name: str) -> None:
    from renderers import base

    assert getattr(base, name) is not None
    assert name not in renderers._HOME_OF_NAME or getattr(base, name) is getattr(renderers, name)


def test_the_base_module_has_no_other_names() -> None:
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from renderers.base import no_such_name")


def test_every_module_path_of_release_0_1_exists() -> None:
    assert sorted(RELEASE_0_1_MODULES) == MODULE_PATHS


@pytest.mark.parametrize("module", MODULE_PATHS)
def test_a_module_path_of_release_0_1_has_the_same_classes(module: str) -> None:
    old, new = (importlib.import_module(f"renderers.{path}{module}") for path in ("", "compat.module_paths."))
    names = [name for name in vars(old) if name.endswith(("Renderer", "Parser"))]
    assert names
    assert all(getattr(old, name) is getattr(new, name) for name in names)
    assert all(getattr(old, name) is getattr(renderers, name) for name in names if name.endswith("Renderer"))


@pytest.mark.parametrize("module", MODULE_PATHS)
def test_a_module_path_of_release_0_1_defines_nothing_itself(module: str) -> None:
    # The file can be imported under two names, so a definition would exist twice.
    tree = ast.parse((PACKAGE / "compat" / "module_paths" / f"{module}.py").read_text(encoding="utf-8"))
    assert all(isinstance(node, ast.ImportFrom) for node in tree.body)


@pytest.mark.parametrize("module", MODULE_PATHS)
def test_a_module_path_of_release_0_1_hides_no_module(module: str) -> None:
    assert not (PACKAGE / f"{module}.py").exists()
    assert not (PACKAGE / module).exists()


def test_threads_may_import_the_first_name_all_at_once() -> None:
    code = """
import threading
start, loaded = threading.Barrier(16), []
def work():
    start.wait()
    from renderers import EXAMPLE_MODEL, load_tokenizer
    loaded.append(load_tokenizer(EXAMPLE_MODEL))
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(loaded), len(set(map(id, loaded))))
"""
    assert run(code).split() == ["16", "1"]
