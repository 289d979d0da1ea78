"""Build and check a `Vocab` from file contents."""

from __future__ import annotations

from collections.abc import Mapping

from renderers.tokenizer.loading.files import TokenizerFiles, digest, only_load_errors
from renderers.tokenizer.loading.model_files import ModelFiles, read_model_files
from renderers.tokenizer.loading.validate import check_tokenizer, find_isolating_tokens, is_byte_level
from renderers.tokenizer.loading.vocabulary import build_vocabulary
from renderers.tokenizer.vocab import Vocab, shared_vocab


def build(files: TokenizerFiles, contents: Mapping[str, bytes]) -> Vocab:
    """Return the vocabulary of these file contents, building and checking it unless the process has it already.

    Raises:
        TokenizerLoadError: A file is damaged, or the files contradict each other.
    """
    content_digest = digest(contents)

    def work() -> Vocab:
        with only_load_errors(file=", ".join(file for file in files.paths if file != files.vocabulary)):
            model_files = read_model_files(contents)
        with only_load_errors(file=files.vocabulary):
            return assemble(contents[files.vocabulary], model_files, file=files.vocabulary, digest=content_digest)

    return shared_vocab(content_digest, build=work)


def assemble(content: bytes, model_files: ModelFiles, *, file: str, digest: str) -> Vocab:
    """Build a `Vocab` from a vocabulary file and the other files of the model, and check that they agree."""
    vocabulary = build_vocabulary(content, file, model_files)
    tokenizer = vocabulary.tokenizer
    roles = {**vocabulary.special_tokens, **model_files.special_tokens}
    named = {*roles.values(), *model_files.extra_special_tokens}
    check_tokenizer(
        tokenizer,
        declared={**vocabulary.declared, **model_files.added_tokens},
        special_tokens=named,
        stop_token_ids=model_files.stop_token_ids or (),
    )
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    special.update(number for text in named if (number := tokenizer.token_to_id(text)) is not None)
    return Vocab(
        digest=digest,
        backend=tokenizer,
        special_tokens_map=roles,
        added_tokens={token.content: number for number, token in added.items()},
        special_ids=frozenset(special),
        chat_templates=model_files.chat_templates,
        stop_token_ids=model_files.stop_token_ids,
        takes_images=model_files.takes_images,
        takes_audio=model_files.takes_audio,
        isolating_token_ids=find_isolating_tokens(tokenizer),
        byte_level=is_byte_level(tokenizer),
    )
