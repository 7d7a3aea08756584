"""Trains models/starter.gguf, starting from test/fixtures/models/tiny-chat-q8_0.gguf, on corpus.py.

    pip install torch numpy gguf tokenizers
    python test/starter-model/train.py --minutes 15

The first block learns to speak too (early-exit losses): what the first layers propose, the whole model mostly confirms.
"""
import argparse, math, pathlib, time
import numpy as np, torch, torch.nn.functional as F
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from corpus import corpus

ROOT = pathlib.Path(__file__).resolve().parents[2]
options = argparse.ArgumentParser()
options.add_argument("--minutes", type=float, default=15)
options.add_argument("--threads", type=int, default=2)
options.add_argument("--out", default=str(ROOT / "models/starter.gguf"))
options = options.parse_args()
torch.manual_seed(0)
torch.set_num_threads(options.threads)

source = GGUFReader(ROOT / "test/fixtures/models/tiny-chat-q8_0.gguf")
field = lambda name: source.fields[name].contents()
HEADS, KV_HEADS = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
DIM, BLOCKS = field("llama.embedding_length"), field("llama.block_count")
HEAD = DIM // HEADS
EPS, BASE = field("llama.attention.layer_norm_rms_epsilon"), field("llama.rope.freq_base")
LENGTH, BATCH = 128, 16
weights = {
    t.name: torch.nn.Parameter(torch.from_numpy(quants.dequantize(t.data, t.tensor_type).astype(np.float32).copy()))
    for t in source.tensors
}

tokens = field("tokenizer.ggml.tokens")
SPECIAL = [t for t, kind in zip(tokens, field("tokenizer.ggml.token_type")) if kind == 3]
bpe = models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in field("tokenizer.ggml.merges")])
tokenizer = Tokenizer(bpe)
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(SPECIAL)

angles = torch.outer(torch.arange(LENGTH).float(), BASE ** (-torch.arange(0, HEAD, 2).float() / HEAD))
COS, SIN = angles.cos(), angles.sin()


def rotate(x):
    even, odd, n = x[..., 0::2], x[..., 1::2], x.shape[-2]
    return torch.stack((even * COS[:n] - odd * SIN[:n], even * SIN[:n] + odd * COS[:n]), -1).flatten(-2)


def block(x, n):
    w = lambda name: weights[f"blk.{n}.{name}.weight"]
    batch, length, _ = x.shape
    heads = lambda y, count: y.view(batch, length, count, HEAD).transpose(1, 2)
    h = F.rms_norm(x, (DIM,), w("attn_norm"), EPS)
    q, k = rotate(heads(h @ w("attn_q").T, HEADS)), rotate(heads(h @ w("attn_k").T, KV_HEADS))
    v = heads(h @ w("attn_v").T, KV_HEADS)
    k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, DIM)
    x = x + mixed @ w("attn_output").T
    h = F.rms_norm(x, (DIM,), w("ffn_norm"), EPS)
    return x + (F.silu(h @ w("ffn_gate").T) * (h @ w("ffn_up").T)) @ w("ffn_down").T


def logits(x):
    output = weights.get("output.weight", weights["token_embd.weight"])
    return F.rms_norm(x, (DIM,), weights["output_norm.weight"], EPS) @ output.T


def losses(text):
    x = F.embedding(text[:, :-1], weights["token_embd.weight"])
    of = lambda x: F.cross_entropy(logits(x).flatten(0, 1), text[:, 1:].flatten())
    early = []
    for n in range(BLOCKS):
        x = block(x, n)
        if n < BLOCKS - 1:
            early.append(of(x))
    return of(x), early


def ids(seed, characters):
    return torch.tensor([i for e in tokenizer.encode_batch(corpus(seed, characters)) for i in e.ids])


learn, check = ids(1, 6_000_000), ids(99, 100_000)
print(f"{len(learn)} tokens to learn from; before: {losses(check[: 16 * 128].view(16, 128))[0].item():.3f}", flush=True)
adam = torch.optim.AdamW(weights.values(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.05)
began, step = time.time(), 0
while (done := (time.time() - began) / 60 / options.minutes) < 1:
    for group in adam.param_groups:
        group["lr"] = 1e-3 * min(1, (step + 1) / 50) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
    at = torch.randint(len(learn) - LENGTH - 1, (BATCH,))
    whole, early = losses(torch.stack([learn[i : i + LENGTH + 1] for i in at]))
    adam.zero_grad()
    (whole + 0.3 * sum(early)).backward()
    torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
    adam.step()
    step += 1
    if step % 50 == 0:
        with torch.no_grad():
            whole, early = losses(check[: 16 * 128].view(16, 128))
        print(f"{step} {time.time() - began:.0f} s {whole.item():.3f} {[round(e.item(), 3) for e in early]}", flush=True)

out = GGUFWriter(options.out, "llama")
for name, f in source.fields.items():
    if name.startswith("GGUF.") or name in ("general.architecture", "general.name", "general.file_type"):
        continue
    kind, inner = f.types[0], f.types[-1] if f.types[0] == GGUFValueType.ARRAY else None
    out.add_key_value(name, f.contents(), kind, sub_type=inner)
out.add_name("Tributary starter")
out.add_file_type(2)
for name, weight in weights.items():
    data = weight.detach().numpy()
    kind = GGMLQuantizationType.F32 if data.ndim == 1 else GGMLQuantizationType.Q4_0
    out.add_tensor(name, quants.quantize(data, kind), raw_dtype=kind)
out.write_header_to_file()
out.write_kv_data_to_file()
out.write_tensors_to_file()
out.close()
print(f"{options.out} after {step} steps")
