"""Writes a GGUF file for the inference benchmark: random weights in the shape of a small Llama, with the vocabulary of
models/starter.gguf filled up. Speed asks for the shape only. The same options give the same file.

    pip install numpy gguf
    python test/bench/inference/random-model.py q4_0 135m-q4_0.gguf
"""
import argparse, math, pathlib
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, quants

ROOT = pathlib.Path(__file__).resolve().parents[3]
options = argparse.ArgumentParser()
options.add_argument("type", choices=["q4_0", "q8_0"])
options.add_argument("out")
options.add_argument("--width", type=int, default=576)
options.add_argument("--blocks", type=int, default=30)
options.add_argument("--feed-forward", type=int, default=1536)
options.add_argument("--heads", type=int, default=9)
options.add_argument("--kv-heads", type=int, default=3)
options.add_argument("--vocabulary", type=int, default=49_152)
options.add_argument("--context", type=int, default=2048)
options = options.parse_args()
WIDTH, BLOCKS, INNER = options.width, options.blocks, options.feed_forward
HEAD = WIDTH // options.heads
KIND = GGMLQuantizationType[options.type.upper()]
random = np.random.default_rng(42)

source = GGUFReader(ROOT / "models/starter.gguf")
writer = GGUFWriter(options.out, "llama")
writer.add_name("random")
writer.add_file_type(LlamaFileType.MOSTLY_Q4_0 if options.type == "q4_0" else LlamaFileType.MOSTLY_Q8_0)
writer.add_quantization_version(2)
writer.add_vocab_size(options.vocabulary)
writer.add_context_length(options.context)
writer.add_embedding_length(WIDTH)
writer.add_block_count(BLOCKS)
writer.add_feed_forward_length(INNER)
writer.add_head_count(options.heads)
writer.add_head_count_kv(options.kv_heads)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_dimension_count(HEAD)
writer.add_rope_freq_base(10_000)

for name, field in source.fields.items():
    if not name.startswith("tokenizer."):
        continue
    value = field.contents()
    if name in ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type"):
        rest = range(len(value), options.vocabulary)
        value = [*value, *(f"\u0120w{token}" if name.endswith("tokens") else 1 for token in rest)]
    kinds = field.types
    writer.add_key_value(name, value, kinds[0], kinds[-1] if kinds[0] == GGUFValueType.ARRAY else None)


def add(name, rows, columns, deviation):
    weights = random.standard_normal((rows, columns), dtype=np.float32) * np.float32(deviation)
    writer.add_tensor(name, quants.quantize(weights, KIND), raw_dtype=KIND)


def add_ones(name):
    writer.add_tensor(name, np.ones(WIDTH, np.float32))


add("token_embd.weight", options.vocabulary, WIDTH, 0.02)
for block in range(BLOCKS):
    into, out_of = 1 / math.sqrt(WIDTH), 0.3 / math.sqrt(BLOCKS)
    prefix = f"blk.{block}."
    add_ones(prefix + "attn_norm.weight")
    add(prefix + "attn_q.weight", options.heads * HEAD, WIDTH, into)
    add(prefix + "attn_k.weight", options.kv_heads * HEAD, WIDTH, into)
    add(prefix + "attn_v.weight", options.kv_heads * HEAD, WIDTH, into)
    add(prefix + "attn_output.weight", WIDTH, options.heads * HEAD, out_of / math.sqrt(WIDTH))
    add_ones(prefix + "ffn_norm.weight")
    add(prefix + "ffn_gate.weight", INNER, WIDTH, into)
    add(prefix + "ffn_up.weight", INNER, WIDTH, into)
    add(prefix + "ffn_down.weight", WIDTH, INNER, out_of / math.sqrt(INNER))
add_ones("output_norm.weight")

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
