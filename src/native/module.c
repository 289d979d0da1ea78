/* The table of functions of the extension `renderers.core._native`. */

#include "layout.h"

static PyMethodDef methods[] = {
    {"attribute", native_attribute, METH_VARARGS,
     "attribute(text, ids, sizes, borders, ends, normalized, moves, labels, run): the labels of a text as runs of tokens,\n"
     "and the tokens across a border of sampled text. Otherwise as `locate`.\n\n"
     "`labels` are tuples of seven: start, end, message, path, channel, sampled, content. `run` is the class of runs."},
    {"attribute_spans", native_attribute_spans, METH_VARARGS,
     "attribute_spans(text, ids, sizes, borders, ends, normalized, moves, spans, results, channel_of, channels, role,\n"
     "headers, marks, rules, run): the result of `attribute` for the labels of spans. None if Python has to find a turn.\n"
     "\n"
     "The arguments are those of `index_spans`, `find_turns` and `attribute`. Headers of messages without spans do not\n"
     "count."},
    {"encode_bpe", native_encode_bpe, METH_VARARGS,
     "encode_bpe(block, texts, cache, normalized): the ids of each text as uint32, None if it is left out because of its\n"
     "characters.\n\n"
     "`block` is a compiled vocabulary. `cache` is a bytearray for words. With `normalized`, texts are in the normal form\n"
     "of the vocabulary. `renderers.tokenizer.compiled.block` has the format."},
    {"encode_parts", native_encode_parts, METH_VARARGS,
     "encode_parts(block, cache, seen, texts, marks, added, young, old, shortest, normalize): for each text its ids, the\n"
     "borders of its parts, and the number of ids up to the end of each part; and a dict of ids by piece. None in place\n"
     "of a text with a lone surrogate, or if a piece is left out because of its characters.\n\n"
     "`marks` cut the texts, and `added` has their ids. Pieces of at least `shortest` characters that come again are\n"
     "looked up in the dicts `young` and `old`. The dict has those that `young` does not have. `seen` has sets of four\n"
     "marks of the pieces that came before, as uint32; all did if it has no set. `normalize` is called with the pieces\n"
     "that the normalizer may change. `block` and `cache` are those of `encode_bpe`. Other threads can run between\n"
     "pieces."},
    {"expand", native_expand, METH_VARARGS,
     "expand(runs, column): a list with an item of each run for each of its tokens. Runs begin with their ends."},
    {"find", native_find, METH_VARARGS,
     "find(text, trie, tokens, match): the tokens in a text, the longest where several start, each as a tuple of the\n"
     "class `match` with its start, its end and the token.\n\n"
     "`trie` has four int32 for each node: its byte, the first child, the next sibling, and the token that ends there,\n"
     "counted from 1. Node 0 is the root. Children and siblings come after a node; 0 means none."},
    {"finish_messages", native_finish_messages, METH_VARARGS,
     "finish_messages(messages, words): copy the reasoning of messages in a list to the keys that templates read. Return\n"
     "the indices of messages that are not of a usual form, which stay as they are.\n\n"
     "`words` are the names of keys, as in `renderers.core.messages`."},
    {"find_invalid_id", native_find_invalid_id, METH_O,
     "find_invalid_id(ids): the index of the first item that is not a plain int from 0 to 2**32 - 1; -1 if all are."},
    {"fill_bpe", native_fill_bpe, METH_VARARGS,
     "fill_bpe(block, merges, model): fill the tables of a compiled vocabulary.\n\n"
     "`merges` are two ids for each rank, as uint32. `model` has a byte for each id, 1 if it is a token of the model."},
    {"find_ids", native_find_ids, METH_VARARGS,
     "find_ids(ids, sequence, start): the index of the first sequence in ids from `start` on; -1 if there is none.\n\n"
     "Both are uint32. An empty sequence is never found."},
    {"find_layout", native_find_layout, METH_O,
     "find_layout(wanted): read lists and ints from memory if wanted, and if the layout of this interpreter is known.\n"
     "True if they are, as from the import on. For tests."},
    {"find_mark", (PyCFunction)(void (*)(void))native_find_mark, METH_FASTCALL,
     "find_mark(text, marks, characters, start, offset): the first position in a text from `start` on with one of some\n"
     "characters, -1 if there is none.\n\n"
     "`marks` are the positions to look at, in ascending order. They count from `offset` characters before the text."},
    {"find_start", (PyCFunction)(void (*)(void))native_find_start, METH_FASTCALL,
     "find_start(positions, position, low, high): the index of the first of some positions, in ascending order and as\n"
     "uint64, that is not below a position; between two bounds."},
    {"find_starts", native_find_starts, METH_VARARGS,
     "find_starts(positions, wanted): the index of the first of some positions, in ascending order and as uint64, that is\n"
     "not below each one of a list."},
    {"find_turns", native_find_turns, METH_VARARGS,
     "find_turns(text, spans, places, headers, marks, (special, stops, end, markers), types): the turns of messages, None\n"
     "without headers, False if Python has to find one.\n\n"
     "`places` and `headers` have an entry for each message. `marks` are the special tokens in the text, in order.\n"
     "`special` and `stops` are sets of tokens. `end` and the two markers of reasoning are texts or None. `types` are the\n"
     "classes of turns and of reasoning."},
    {"fill", native_fill, METH_VARARGS,
     "fill(entries, texts, ends, markers): write the entries of a vocabulary into the table of `join`.\n\n"
     "`texts` are all texts, `ends` the end of each as uint32, `markers` the characters that stand for tokens."},
    {"index_spans", native_index_spans, METH_VARARGS,
     "index_spans(spans, results, channel_of, channels, role, type): the channel of each span, and the places of each\n"
     "message as a tuple of `type`, None for a message without spans.\n\n"
     "`results` has a flag for each message. `channel_of` returns the channel of a path and such a flag, None for text of\n"
     "no message, for which only the first key of a path counts. `channels` begin with scaffold and content. `role` is the\n"
     "name of the field with the role."},
    {"touching_fields", native_touching_fields, METH_VARARGS,
     "touching_fields(spans, tokens): the matches of tokens that are not inside one span of template text."},
    {"label_spans", native_label_spans, METH_VARARGS,
     "label_spans(spans, channels, turns, media, kinds, type, otherwise): the labels of all spans.\n\n"
     "`turns` has for each message None, or a tuple: a place, the start and the end of sampled text, prompted ranges in\n"
     "it, and the four places of reasoning or None. `otherwise` labels the spans of turns with prompted ranges, and\n"
     "template text of the messages in `media`: it gets a span and its channel, and returns labels. `kinds` are the\n"
     "channels scaffold, content and reasoning, then others that count as content."},
    {"keeps_bpe", native_keeps_bpe, METH_VARARGS,
     "keeps_bpe(block, text): True if the normalizer of a compiled vocabulary does not change a text. False if it may, or\n"
     "if the properties of a character are not known."},
    {"join", native_join, METH_VARARGS,
     "join(ids, entries, texts, first): the joined text of ids, the position of each as uint64, and those of markers.\n\n"
     "Positions count from `first` on. If ids have no text, a list of these. `renderers.parsing.pieces` has the format."},
    {"join_regions", native_join_regions, METH_VARARGS,
     "join_regions(regions, tokens, first, type): the parts of a completion, each with its region and its tokens.\n\n"
     "`tokens` are the tokens after the regions. `first` is the region before all."},
    {"join_pieces", native_join_pieces, METH_VARARGS,
     "join_pieces(pieces, first, borders, marks, added_tokens): the ids of a text as uint32, and the number of ids up to\n"
     "the end of each part as int64. Pieces from `first` on are the ids of the parts that are not empty, as bytes.\n"
     "`borders` are those of `split_text`, and matches end with their token."},
    {"locate", native_locate, METH_VARARGS,
     "locate(text, ids, sizes, borders, ends, normalized, moves, places): for each place in a text, the first token across\n"
     "it and the number of tokens that start before it. A list of ids if their sizes are unknown, or the number of a part\n"
     "if the sizes of its tokens do not add up to it.\n\n"
     "`ids` are uint32. `sizes` are the bytes of each token plus 1 as uint32, 0 if unknown. `borders` are the places\n"
     "between the parts of the text, `ends` the number of ids up to the end of each part, as int64. Odd parts are one\n"
     "token. `normalized` is the text that the tokens have. `moves` are pairs of int64: from a place of the text on, its\n"
     "characters are at this place of the normalized text and after it."},
    {"pack_ids", native_pack_ids, METH_VARARGS,
     "pack_ids(ids, packed): write a list of ids as uint32. The result is that of `find_invalid_id`."},
    {"unpack_ids", native_unpack_ids, METH_O,
     "unpack_ids(ids): uint32 as a list of ints. Lists share their ints below 2**18."},
    {"size_entries", native_size_entries, METH_O,
     "size_entries(ends): the size of each of the texts with some ends plus 1. Both are uint32."},
    {"split_text", native_split_text, METH_VARARGS,
     "split_text(text, marks): the borders of the parts of a text as int64, and the texts between the matches that are\n"
     "not empty."},
    {"copy_json", native_copy_json, METH_VARARGS,
     "copy_json(value, depth, untracked): a copy of JSON data of exact types; NotImplemented if it is not, or is too\n"
     "deep. The garbage collector does not visit it if `untracked`, so it may be changed only to other JSON data."},
    {"untrack", native_untrack, METH_O,
     "untrack(value): the same container, which the garbage collector does not visit from now on. Nothing in it may lead\n"
     "back to it."},
    {"same_json", native_same_json, METH_VARARGS,
     "same_json(value, plain): True if a value is the same as JSON data of exact types, with keys in the same order."},
    {"json_text", native_json_text, METH_O,
     "json_text(value): the text of `json.dumps(value, ensure_ascii=False)`. None if Python has to write it."},
    {"is_plain", native_is_plain, METH_O,
     "is_plain(value): True if a value is JSON data of exact types, and not too deep."},
    {"is_simple_json", native_is_simple_json, METH_VARARGS,
     "is_simple_json(text, brackets): True if a text is ASCII, has at most so many opening brackets, and no escape of a\n"
     "code unit."},
    {"wrap_contents", (PyCFunction)(void (*)(void))native_wrap_contents, METH_FASTCALL,
     "wrap_contents(container, message, path, types): wrap the items of a dict or a list in place.\n\n"
     "`types` are those for texts, integers, floats, dicts and lists."},
    {"wrap_messages", native_wrap_messages, METH_VARARGS,
     "wrap_messages(messages, wrapped, type, types): append the messages from the number of wrapped ones on, up to the\n"
     "first one that is not a dict of JSON data of exact types. Each becomes a `type` with wrapped contents."},
    {"field_text", (PyCFunction)(void (*)(void))native_field_text, METH_FASTCALL,
     "field_text(type, attribute, text, owner): a text of a subclass of str with an owner in an attribute."},
    {"enter_message", (PyCFunction)(void (*)(void))native_enter_message, METH_FASTCALL,
     "enter_message(kinds, outer, message, output): a scope of a message within another, appended to an output.\n\n"
     "`kinds` are the class of scopes, and the names of the attributes for the scope around it, its branch, its owner,\n"
     "the message of its owner, and the owner of a message."},
    {"settle", native_settle, METH_VARARGS,
     "settle(text, pieces, root, roles, leading, types): the spans of an output, a text and its pieces.\n\n"
     "`root` is its outermost scope. `roles` are those of the messages. `leading` is the set of roles of a first message\n"
     "that text before it belongs to. `types` are those of scopes, of branches, of texts of one field, and of spans."},
    {"written_fields", native_written_fields, METH_VARARGS,
     "written_fields(pieces, types): the set of owners with text in an output.\n\n"
     "`types` are those of texts of one field, of texts of several fields, and of safe texts."},
    {"may_lose", native_may_lose, METH_VARARGS,
     "may_lose(pieces, messages, items, kinds, types, words): False if an output has text of every field of messages\n"
     "and of every item that is of some kinds. True may be a false alarm.\n\n"
     "`items` are pairs of a kind and a value. `types` are those of `written_fields`. `words` are the names of attributes\n"
     "and keys, as in `renderers.rendering.loss_check`."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    find_layout(1);
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static void release(void *module)
{
    free_numbers(PyModule_GetState(module));
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_size = sizeof(State),
    .m_methods = methods,
    .m_slots = slots,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
