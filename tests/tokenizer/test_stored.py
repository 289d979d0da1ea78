"""A vocabulary from the cache folder gives everything that its model's files give, and damage changes nothing."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, LoadedTokenizer, create_renderer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.errors import TokenizerFileError
from renderers.tokenizer.compile_ahead import compile_ahead
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.facts import facts_of
from renderers.tokenizer.loading import load as load_module
from renderers.tokenizer.stored import STORED_FIELDS, find_compiled
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary, snapshot_of

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")

SECONDS = 120
TEXTS = ["Hello, wörld! It's 12:30.\n\n", "你好 🙂", "e\u0301 \u212a", "", " ", "\u0378 unassigned", "a" * 1000]
REAL_MODELS = [
    name
    for name in one_model_per_vocabulary()
    if name in ("Qwen/Qwen3-8B", "google/gemma-4-31B-it", "deepseek-ai/DeepSeek-V3.1", "moonshotai/Kimi-K2-Instruct")
]
"""Vocabularies with a normalizer, without byte symbols, with special tokens that are not ASCII, and of ranks."""
MESSAGES = [{"role": "user", "content": "Hello, world!"}, {"role": "assistant", "content": "Hi."}]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("RENDERERS_CACHE", str(folder))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the example model with contents of its own, so that no other test has loaded it."""
    return with_own_contents(EMBEDDED, tmp_path / "model")


def with_own_contents(model: Path, folder: Path) -> Path:
    """Copy a model, and change its config, which is part of the digest."""
    shutil.copytree(model, folder)
    (folder / "config.json").unlink(missing_ok=True)
    (folder / "config.json").write_text(json.dumps({"id": str(folder)}))
    return folder


def load_fresh(name: str | Path) -> LoadedTokenizer:
    """Load a model as a new process does."""
    load_module._TOKENIZERS._kept.clear()
    gc.collect()
    loaded = load_tokenizer(name)
    assert "tokenizer" not in vars(loaded.vocab.truth)
    return loaded


def ids_of(vocab: Vocab, texts: list[str]) -> list[list[int]]:
    return [list(unpack_ids(piece)) for piece in vocab.encode_pieces(texts)]


def store(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """Store the vocabulary of a model. Return the path of the file, and facts from the model's own files."""
    tokenizer = load_tokenizer(name)
    vocab = tokenizer.vocab
    assert vocab.stored is None
    facts = {field: getattr(vocab, field) for field in STORED_FIELDS}
    facts |= {"facts": facts_of(vocab.backend), "size": len(tokenizer), "model_size": tokenizer.vocab_size}
    facts |= {"joined": vocab.byte_texts.joined, "ends": vocab.byte_texts.ends, "stripping": vocab.stripping}
    facts |= {"isolated": vocab.isolated_texts, "digest": vocab.digest, "sizes": vocab.token_sizes is None}
    facts |= {"texts": [vocab.token_texts[number] for number in (-1, 0, 1, 300, len(tokenizer), 2**40)]}
    return compile_ahead(tokenizer), facts


def facts_from(tokenizer: LoadedTokenizer) -> dict[str, Any]:
    """Return the same facts of a vocabulary from a file."""
    vocab = tokenizer.vocab
    assert vocab.stored is not None
    facts = {field: getattr(vocab, field) for field in STORED_FIELDS}
    facts |= {"facts": vocab.facts, "size": len(tokenizer), "model_size": tokenizer.vocab_size}
    facts |= {"joined": vocab.byte_texts.joined, "ends": vocab.byte_texts.ends, "stripping": vocab.stripping}
    facts |= {"isolated": vocab.isolated_texts, "digest": vocab.digest, "sizes": vocab.token_sizes is None}
    facts |= {"texts": [vocab.token_texts[number] for number in (-1, 0, 1, 300, len(tokenizer), 2**40)]}
    return facts


def test_a_stored_vocabulary_has_the_facts_of_the_files(cache: Path, model: Path) -> None:
    path, due = store(model)
    assert path.parent == cache
    tokenizer = load_fresh(model)
    assert facts_from(tokenizer) == due
    assert "tokenizer" not in vars(tokenizer.vocab.truth)
    for field in STORED_FIELDS:
        assert type(getattr(tokenizer.vocab, field)) is type(due[field]), field


@pytest.mark.parametrize("name", REAL_MODELS)
def test_the_stored_vocabulary_of_a_real_model_is_the_same(cache: Path, name: str, hub: Path, tmp_path: Path) -> None:
    model = with_own_contents(snapshot_of(name), tmp_path / "model")
    _, due = store(model)
    tokenizer = load_fresh(model)
    assert facts_from(tokenizer) == due
    vocab = tokenizer.vocab
    nasty = nasty_texts(code_files=1, random_texts=50)
    texts = [text for text in nasty if not any(token in text for token in vocab.added_tokens)]
    found = ids_of(vocab, texts)
    assert vocab.engines.status.name == "native"
    assert found == [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    assert_decodes_as_the_truth(tokenizer)


def assert_decodes_as_the_truth(tokenizer: LoadedTokenizer) -> None:
    chance, size = random.Random(0), len(tokenizer) + 300
    rows = [[number] for number in tokenizer.added_tokens.values()]
    rows += [chance.choices(range(size), k=chance.randrange(1, 12)) for _ in range(3_000)]
    rows += [[*row, chance.choice(list(tokenizer.added_tokens.values()))] for row in rows[:300]]
    truth = tokenizer.vocab.backend
    for row in rows:
        assert tokenizer.decode(row) == truth.decode(row, skip_special_tokens=False), row


def test_the_tokenizer_is_built_when_it_is_needed_even_without_the_model(cache: Path, model: Path) -> None:
    due = load_tokenizer(model).encode(TEXTS[0])
    path, _ = store(model)
    tokenizer = load_fresh(model)
    shutil.rmtree(model)
    path.unlink()
    assert ids_of(tokenizer.vocab, TEXTS[:1]) == [tokenizer.encode(TEXTS[0], add_special_tokens=False)]
    assert tokenizer.encode(TEXTS[0]) == due
    assert tokenizer.decode(due) == TEXTS[0]


def test_a_section_that_is_damaged_after_the_load_is_read_from_the_model(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = store(model)
    content = bytearray(path.read_bytes())
    at = content.rindex(b'"merges"')
    content[at + 20] ^= 1
    path.write_bytes(content)
    tokenizer = load_fresh(model)
    assert tokenizer.encode(TEXTS[0]) == load_tokenizer(EMBEDDED).encode(TEXTS[0])
    (model / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(TokenizerFileError, match="changed since it was loaded"):
        load_module._build_again(*_arguments_of(tokenizer, model))


def _arguments_of(tokenizer: LoadedTokenizer, model: Path) -> tuple[Any, str]:
    from renderers.tokenizer.loading.locate import locate

    return locate(str(model), None), tokenizer.vocab.digest


def test_bytes_that_are_changed_anywhere_never_change_an_id(cache: Path, model: Path) -> None:
    path, _ = store(model)
    content = path.read_bytes()
    due = [load_tokenizer(EMBEDDED).encode(text, add_special_tokens=False) for text in TEXTS]
    chance = random.Random(0)
    used = 0
    # Collecting the objects of all earlier tests would take most of the time.
    gc.freeze()
    for _ in range(60):
        damaged = bytearray(content)
        start = chance.choice((0, 40, 200, chance.randrange(len(content))))
        for at in range(start, min(start + chance.choice((1, 1, 16)), len(content))):
            damaged[at] ^= chance.randrange(256)
        if chance.random() < 0.2:
            damaged = damaged[: chance.randrange(len(content))]
        path.write_bytes(damaged)
        load_module._TOKENIZERS._kept.clear()
        gc.collect()
        tokenizer = load_tokenizer(model)
        used += tokenizer.vocab.stored is not None
        assert ids_of(tokenizer.vocab, TEXTS) == due
        assert tokenizer.eos_token == "<|end|>"
        del tokenizer
    gc.unfreeze()
    assert used < 60


def test_other_contents_and_other_versions_have_other_files(
    cache: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(model)
    (model / "config.json").write_text('{"vision_config": {}}')
    assert load_tokenizer(model).vocab.stored is None
    assert load_tokenizer(model).takes_images is True
    (model / "config.json").write_text(json.dumps({"id": str(model.parent)}))
    monkeypatch.setattr("renderers.tokenizer.storage.store.tokenizers_version", lambda: "0.0.1")
    load_module._TOKENIZERS._kept.clear()
    gc.collect()
    assert load_tokenizer(model).vocab.stored is None


def test_a_file_of_another_user_is_not_used(cache: Path, model: Path) -> None:
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("needs root to change the owner")
    path, _ = store(model)
    os.chown(path, 65534, 65534)
    load_module._TOKENIZERS._kept.clear()
    gc.collect()
    assert load_tokenizer(model).vocab.stored is None


def test_renders_pickles_and_equality_do_not_depend_on_the_file(cache: Path, model: Path) -> None:
    rendered = create_renderer(load_tokenizer(EMBEDDED)).render(MESSAGES)
    store(model)
    tokenizer = load_fresh(model)
    renderer = create_renderer(tokenizer)
    again = renderer.render(MESSAGES)
    assert again.token_ids == rendered.token_ids
    assert again.sampled_mask == rendered.sampled_mask
    assert "tokenizer" not in vars(tokenizer.vocab.truth)
    assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer
    state = pickle.loads(pickle.dumps(tokenizer.vocab.state()))
    assert state["special_ids"] == tokenizer.vocab.special_ids
    assert load_tokenizer(model, bpe_engine="tokenizers") == tokenizer
    assert load_tokenizer(model, bpe_engine="tokenizers").vocab.truth is tokenizer.vocab.truth


def test_a_vocabulary_of_a_file_is_freed_with_its_last_user(cache: Path, model: Path) -> None:
    store(model)
    tokenizer = load_fresh(model)
    ids_of(tokenizer.vocab, TEXTS)
    reference = weakref.ref(tokenizer.vocab)
    load_module._TOKENIZERS._kept.clear()
    del tokenizer
    assert reference() is None


def run(code: str, *arguments: object, **environment: str) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    result = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **environment}
    )
    return result.stdout.strip()


RENDER = """
import sys
from renderers import create_renderer, load_tokenizer
renderer = create_renderer(load_tokenizer(sys.argv[1]))
messages = [{"role": "user", "content": "Hello, world! \u4f60\u597d"}]
ids = list(renderer.render(messages, add_generation_prompt=True).token_ids)
ids += renderer.bridge_to_next_turn(ids, [870], messages).token_ids
loaded = [name for name in ("tokenizers", "huggingface_hub.hf_api", "http.client", "email") if name in sys.modules]
print(renderer.tokenizer.bpe_engine.name, ids, loaded)
"""


def test_a_process_with_the_file_renders_and_bridges_without_importing_tokenizers(cache: Path, model: Path) -> None:
    first = run(RENDER, model)
    assert first.startswith("tokenizers [")
    compile_ahead(load_tokenizer(model))
    later = run(RENDER, model, RENDERERS_VERIFY="0")
    assert later.startswith("native [")
    assert later.endswith(" []")
    assert later.split("[")[1] == first.split("[")[1]
    without = run(RENDER, model, RENDERERS_PURE_PYTHON="1")
    assert without.startswith("tokenizers [")
    assert without.split("[")[1] == first.split("[")[1]


LONG = """
import sys, threading
from renderers import load_tokenizer
tokenizer = load_tokenizer(sys.argv[1])
tokenizer.vocab.encode_pieces([f"{number} some text" for number in range(1000)])
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print(tokenizer.vocab.stored is not None, tokenizer.bpe_engine.name)
"""


def test_a_process_that_encodes_enough_text_writes_the_file(cache: Path, model: Path) -> None:
    assert run(LONG, model) == "False native"
    assert len(list(cache.iterdir())) == 1
    assert run(LONG, model) == "True native"
    assert find_compiled(load_tokenizer(model).vocab.digest) is not None


def test_processes_that_write_at_once_all_succeed(cache: Path, model: Path) -> None:
    command = [sys.executable, "-c", LONG, str(model)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=SECONDS)[0].split()[1] for process in processes] == ["native"] * 3
    assert len(list(cache.iterdir())) == 1
    assert run(LONG, model) == "True native"


def test_without_a_cache_folder_nothing_is_written(model: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = {"RENDERERS_CACHE": "off", "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    assert run(LONG, model, **settings) == "False native"
    assert not home.exists()


def test_a_folder_that_cannot_be_written_is_no_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert run(LONG, model, RENDERERS_CACHE=str(tmp_path / "file" / "cache")) == "False native"
