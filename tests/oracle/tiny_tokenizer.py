"""Makes conf/examples/tiny_lm/model's tokenizer: byte-level BPE of the words in src/datasets/synthetic_texts.cpp.

  python3 tests/oracle/tiny_tokenizer.py src/datasets/synthetic_texts.cpp \
      conf/examples/tiny_lm/model

Made with tokenizers 0.23.3. Each word of the program's texts becomes a token, with the space
before it; digits stay single, so that sums can be learned digit by digit.
"""
import json
import pathlib
import re
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
DIGITS = "0123456789"


def words_of(source):
    words = set()
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', source):
        words.update(re.findall(r"[A-Za-z]{2,}|A", literal))
    return sorted(words - {"prompt", "completion", "text", "mgpu", "hpp"})


def main():
    source, target = map(pathlib.Path, sys.argv[1:3])
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    words = words_of(source.read_text())
    trainer = trainers.BpeTrainer(vocab_size=4096, min_frequency=1, special_tokens=[END],
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator([f"{word} {word}" for word in words], trainer)
    target.mkdir(exist_ok=True)
    tokenizer.save(str(target / "tokenizer.json"))
    settings = {"eos_token": END, "model_max_length": 256, "pad_token": END,
                "tokenizer_class": "PreTrainedTokenizerFast"}
    (target / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    size = -(-tokenizer.get_vocab_size() // 16) * 16  # whole vectors
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": size,
              "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 4,
              "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
              "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "hidden_act": "silu",
              "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
              "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
              "initializer_range": 0.02, "bos_token_id": None, "eos_token_id": 0,
              "pad_token_id": 0, "dtype": "float32", "use_cache": True}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    generation = {"eos_token_id": 0, "pad_token_id": 0}
    (target / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")
    print(f"{tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    main()
