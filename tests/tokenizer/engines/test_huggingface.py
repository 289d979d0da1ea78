"""Facts about the components of a tokenizer."""

from __future__ import annotations

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from renderers.tokenizer.engines.huggingface import prepends_a_space


def test_a_space_may_come_from_a_normalizer_or_a_pre_tokenizer() -> None:
    backend = Tokenizer(models.BPE())
    assert not prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=True)])
    assert prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    assert not prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    assert prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.normalizer = normalizers.Prepend("▁")
    assert prepends_a_space(backend)
