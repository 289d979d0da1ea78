"""The engine is chosen by the option, by the text that was encoded, and by what is installed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tokenizers import __version__ as tokenizers_version

from renderers import EMBEDDED, adopt_tokenizer, create_renderer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.options import BpeEngineName
from renderers.tokenizer.compiled import compile as compile_module
from renderers.tokenizer.compiled.block import CompiledVocabulary, UnfitVocabularyError
from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.engines import select as module
from renderers.tokenizer.engines.native import NativeEngine
from renderers.tokenizer.engines.select import EngineChoice
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer
from renderers.tokenizer.vocab import vocab_from_state
from tests.support.corpus import nasty_texts

pytestmark = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
SECONDS = 60


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNFIT", {})
    monkeypatch.setattr(module, "_ENGINES", weakref.WeakValueDictionary())


def choice(option: BpeEngineName, digest: str = "of these tests") -> EngineChoice:
    vocab = load_tokenizer(EMBEDDED).vocab
    added = frozenset(vocab.added_tokens)
    truth = LazyTokenizer(digest, lambda: vocab.backend)
    return EngineChoice(option, truth, vocab.facts, added=added, isolated=vocab.isolated_texts)


def test_a_vocabulary_is_compiled_when_enough_text_was_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 1)
    engines = choice("auto")
    size = load_tokenizer(EMBEDDED).vocab.backend.get_vocab_size()
    assert engines.engine_for(["a" * (size - 5)]) is None
    assert engines.status.name == "tokenizers"
    assert f"after {size:,} characters" in engines.status.reason
    assert f"So far: {size - 5:,}" in engines.status.reason
    engines.engine_for(["éa" * 3])
    wait_for_threads()
    assert isinstance(engines.engine_for(["a"]), NativeEngine)
    assert engines.status.name == "native"
    assert f"the same ids as tokenizers {tokenizers_version} for " in engines.status.reason


def wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("renderers: "):
            thread.join(SECONDS)


def test_by_default_a_short_process_does_not_compile_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_module, "compile_vocabulary", None)
    for _ in range(10):
        assert choice("auto").engine_for(["some text"]) is None


def test_with_native_the_first_text_compiles_it() -> None:
    assert isinstance(choice("native").engine_for(["a"]), NativeEngine)


def test_with_tokenizers_it_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 0)
    engines = choice("tokenizers")
    assert engines.engine_for(["a" * 10**6]) is None
    assert str(engines.status) == f'tokenizers {tokenizers_version}: bpe_engine="tokenizers"'


def test_an_engine_that_is_unfit_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def unfit(*_: object, **__: object) -> None:
        tried.append(1)
        raise UnfitVocabularyError("it gives other ids for 1 of 2 probe texts")

    monkeypatch.setattr(compile_module, "compile_vocabulary", unfit)
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 0)
    engines = choice("auto")
    for _ in range(3):
        assert engines.engine_for(["a"]) is None
    assert tried == [1]
    assert engines.status.name == "tokenizers"
    assert engines.status.reason == "the engine in C is not used: it gives other ids for 1 of 2 probe texts"


def test_too_little_memory_for_it_does_not_fail_a_render(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(compile_module, "compile_vocabulary", fail)
    engines = choice("native")
    assert engines.engine_for(["a"]) is None
    assert engines.status.reason.endswith("there is not enough memory to compile the vocabulary")


def test_texts_are_encoded_as_before_while_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    load = compile_vocabulary
    loads = []

    def slow(*args: Any, **options: Any) -> bytes:
        loads.append(threading.current_thread())
        started.set()
        assert release.wait(SECONDS)
        return load(*args, **options)

    monkeypatch.setattr(compile_module, "compile_vocabulary", slow)
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 1)
    engines = choice("auto")
    text = "a" * 10**6
    assert engines.engine_for([text]) is None
    assert started.wait(SECONDS)
    assert engines.engine_for([text]) is None
    release.set()
    wait_for_threads()
    assert isinstance(engines.engine_for(["c"]), NativeEngine)
    assert len(loads) == 1
    assert loads[0] is not threading.current_thread()


def test_a_process_that_cannot_start_a_thread_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 1)
    engines = choice("auto")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert engines.engine_for(["a" * 10**6]) is None
    engines.engine_for(["a"])
    wait_for_threads()
    assert isinstance(engines.engine_for(["a"]), NativeEngine)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_while_it_is_compiled_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started, release = threading.Event(), threading.Event()
    parent, load = os.getpid(), compile_vocabulary

    def slow(*args: Any, **options: Any) -> bytes:
        if os.getpid() == parent:
            started.set()
            assert release.wait(SECONDS)
        return load(*args, **options)

    monkeypatch.setattr(compile_module, "compile_vocabulary", slow)
    engines = choice("native", digest="forked")
    thread = threading.Thread(target=engines.engine_for, args=(["a"],))
    thread.start()
    assert started.wait(SECONDS)

    def child() -> None:
        sys.exit(0 if isinstance(engines.engine_for(["a"]), NativeEngine) else 1)

    assert exit_code_of(child) == 0
    release.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_while_words_are_cached_has_a_cache_of_its_own() -> None:
    engine = choice("native", digest="forked").engine_for(["a"])
    assert engine is not None
    used = engine._cache
    # As if another thread encoded a long text.
    used[0] = 1

    def child() -> None:
        same = engine.encode(["zqxj Ünïcödé"]) == expected
        sys.exit(0 if same and engine._cache is not used and any(engine._cache) else 1)

    expected = engine.encode(["zqxj Ünïcödé"])
    assert exit_code_of(child) == 0
    assert engine._cache is used


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_uses_the_engine_of_its_parent() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="native")
    text = "some text é 中 " * 50_000
    due = tokenizer.encode(text, add_special_tokens=False)
    assert list(unpack_ids(tokenizer.vocab.encode_pieces([text])[0])) == due

    def child() -> None:
        ids = list(unpack_ids(tokenizer.vocab.encode_pieces([text + "!", text])[1]))
        sys.exit(0 if ids == due and tokenizer.bpe_engine.name == "native" else 1)

    assert exit_code_of(child) == 0


def exit_code_of(child: Any) -> int | None:
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
    return process.exitcode


def test_threads_get_the_same_ids_before_and_after_it_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 2)
    tokenizer = load_tokenizer(EMBEDDED)
    state = {**tokenizer.vocab.state(), "digest": "threads"}
    vocab = vocab_from_state(state)
    texts = [f"{text[:200]} {number}" for number, text in enumerate(nasty_texts(code_files=2, random_texts=200))]
    texts = [text for text in texts if not any(token in text for token in vocab.added_tokens)]
    due = [encoding.ids for encoding in vocab.backend.encode_batch_fast(texts, add_special_tokens=False)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: list(unpack_ids(vocab.encode_pieces([text])[0])), texts * 3))
    assert found == due * 3
    wait_for_threads()
    assert vocab.engines.status.name == "native"


def test_without_the_extension_auto_means_tokenizers_and_native_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPILED", False)
    monkeypatch.setattr(module, "_CHARACTERS_PER_TOKEN", 0)
    engines = choice("auto")
    assert engines.engine_for(["a"]) is None
    assert engines.status.reason == "the C extension, which is faster, is not installed"
    for use in (load_tokenizer, lambda name, **options: create_renderer(load_tokenizer(name), **options)):
        with pytest.raises(ModuleNotFoundError, match="needs the C extension of this package, which is not installed"):
            use(EMBEDDED, bpe_engine="native")


def test_a_stored_vocabulary_is_used_from_the_first_text_on(monkeypatch: pytest.MonkeyPatch) -> None:
    vocab = load_tokenizer(EMBEDDED).vocab
    stored = CompiledVocabulary(compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts))
    monkeypatch.setattr(compile_module, "compile_vocabulary", None)
    engines = EngineChoice(
        "auto",
        LazyTokenizer("stored", lambda: vocab.backend),
        vocab.facts,
        added=frozenset(vocab.added_tokens),
        isolated=vocab.isolated_texts,
        stored=stored,
    )
    engine = engines.engine_for(["a"])
    assert isinstance(engine, NativeEngine)
    assert engine.vocabulary is stored


def test_the_engine_of_a_vocabulary_is_shared() -> None:
    first = choice("native", digest="shared").engine_for(["a"])
    assert first is not None
    assert choice("native", digest="shared").engine_for(["a"]) is first


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(ValueError, match="one of 'auto', 'tokenizers', 'native', not 'tiktoken'"):
        load_tokenizer(EMBEDDED, bpe_engine="tiktoken")  # type: ignore[arg-type]


def test_the_option_is_that_of_the_tokenizer_unless_a_renderer_has_another() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="tokenizers")
    assert load_tokenizer(EMBEDDED, bpe_engine="tokenizers") is tokenizer
    assert load_tokenizer(EMBEDDED) is not tokenizer
    assert load_tokenizer(EMBEDDED) == tokenizer
    renderer = create_renderer(tokenizer)
    assert renderer.tokenizer.bpe_engine.reason == 'bpe_engine="tokenizers"'
    other = create_renderer(tokenizer, bpe_engine="native")
    messages = [{"role": "user", "content": "Hello, wörld! 你好 🙂"}]
    assert other.render_ids(messages) == renderer.render_ids(messages)
    assert other.tokenizer.bpe_engine.name == "native"
    assert adopt_tokenizer(other.tokenizer) is other.tokenizer
    assert adopt_tokenizer(other.tokenizer, bpe_engine="native") is other.tokenizer


def test_a_pickle_keeps_the_option() -> None:
    tokenizer = load_tokenizer(EMBEDDED, bpe_engine="tokenizers")
    assert pickle.loads(pickle.dumps(tokenizer)) is tokenizer
    adopted = adopt_tokenizer(tokenizer.vocab.backend, bpe_engine="tokenizers")
    assert pickle.loads(pickle.dumps(adopted)).vocab.bpe_engine == "tokenizers"


def test_an_unpickled_renderer_has_the_option_although_equal_ones_have_others() -> None:
    engines: tuple[BpeEngineName, ...] = ("auto", "native", "tokenizers")
    renderers = [create_renderer(EMBEDDED, bpe_engine=engine) for engine in engines]
    assert renderers[0] == renderers[1] == renderers[2]
    unpickled = [pickle.loads(pickle.dumps(renderer)) for renderer in renderers]
    assert tuple(renderer.tokenizer.vocab.bpe_engine for renderer in unpickled) == engines


def test_a_tokenizer_that_encodes_text_itself_has_no_engine() -> None:
    class Own:
        def encode(self, text: str) -> list[int]:
            return list(text.encode())

        def decode(self, ids: list[int]) -> str:
            return bytes(ids).decode()

        def convert_tokens_to_ids(self, token: str) -> int | None:
            return ord(token) if len(token) == 1 else None

    assert adopt_tokenizer(Own(), bpe_engine="auto").bpe_engine.name == "Own"
    with pytest.raises(TypeError, match="Own encodes text itself"):
        adopt_tokenizer(Own(), bpe_engine="tokenizers")


def test_any_error_of_its_compilation_is_the_reason_not_to_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("cannot map memory")

    monkeypatch.setattr(compile_module, "compile_vocabulary", fail)
    engines = choice("native")
    assert engines.engine_for(["a"]) is None
    assert engines.status.reason == "the engine in C is not used: OSError: cannot map memory"
