"""Write a small Qwen3 model with random weights. Runs in the environment of the engine.

    python tiny_model.py FOLDER

The vocabulary has 151,936 ids, as in Qwen3: more than the tokenizer defines.
"""

from __future__ import annotations

import sys

import torch  # type: ignore[import-not-found, unused-ignore]
from transformers import Qwen3Config, Qwen3ForCausalLM


def main() -> None:
    """Write the config and the weights to the folder of the first argument."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=151_936,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
        bos_token_id=151_643,
        eos_token_id=151_645,
        dtype="bfloat16",
    )
    Qwen3ForCausalLM(config).to(torch.bfloat16).save_pretrained(sys.argv[1])


if __name__ == "__main__":
    main()
