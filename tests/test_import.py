"""`import renderers` is light, and its names are the same however many threads come first."""

from __future__ import annotations

import subprocess
import sys

import pytest

import renderers

HEAVY = "numpy jinja2 tokenizers huggingface_hub httpx httpx2 openai transformers torch tiktoken".split()
ALLOWED = {"renderers", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    before = "import sys; before = set(sys.modules); "
    after = "import renderers; print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    loaded = set(run(before + after).split()) - set(sys.stdlib_module_names)
    assert loaded <= ALLOWED
    assert not loaded & set(HEAVY)


def test_loading_a_tokenizer_never_imports_transformers() -> None:
    code = (
        "import sys; from renderers import EMBEDDED, load_tokenizer; load_tokenizer(EMBEDDED).encode('a');"
        "print(*[name for name in ('transformers', 'torch', 'numpy', 'httpx', 'httpx2') if name in sys.modules])"
    )
    assert run(code).split() == []


@pytest.mark.parametrize("name", renderers.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(renderers, name) is not None
    assert name in dir(renderers)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = renderers.no_such_name


def test_the_older_import_path_gives_the_same_objects() -> None:
    from renderers import base

    both = set(base.__all__) & set(renderers.__all__)
    assert all(getattr(base, name) is getattr(renderers, name) for name in both)
    assert len(both) > 40


def test_threads_may_import_the_first_name_all_at_once() -> None:
    code = """
import threading
start, loaded = threading.Barrier(16), []
def work():
    start.wait()
    from renderers import EMBEDDED, load_tokenizer
    loaded.append(load_tokenizer(EMBEDDED))
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(loaded), len(set(map(id, loaded))))
"""
    assert run(code).split() == ["16", "1"]
