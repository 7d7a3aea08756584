/**
 * Architectures that generate text token by token in the bundled llama.cpp (llama-arch.cpp, LLM_ARCH_NAMES). A test compares
 * the lists in this file with those of that llama.cpp.
 */
export const CHAT_ARCHITECTURES: ReadonlySet<string> = new Set(
  `afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bitnet bloom chameleon chatglm codeshell
  cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr deepseek32 deepseek4 dots1 dots3note
  ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon falcon-h1 gemma gemma2 gemma3 gemma3n gemma4 glm-dsa glm4 glm4moe
  gpt-oss gpt2 gptj gptneox granite granite_swa granitehybrid granitemoe graniteswitch grok grovemoe hrm_text hunyuan-dense
  hunyuan-moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba kimi-k3 kimi-linear laguna lfm2 lfm2moe llama llama4
  maincoder mamba mamba2 maple mellum mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3 mistral3 mistral4 mpt
  muse-glimmer nanbeige nemotron nemotron_h nemotron_h_moe olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3
  phimoe plamo plamo2 plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe
  qwen4exp refact rwkv6 rwkv6qwen2 rwkv7 seed_oss smallthinker smollm3 spark2_5 stablelm starcoder starcoder2 step35 talkie
  xverse`.split(/\s+/),
)

/** Embedding architectures. Others compute embeddings, too, if their file names a pooling type. */
export const EMBEDDING_ARCHITECTURES: ReadonlySet<string> = new Set(
  `bert eurobert gemma-embedding jina-bert-v2 jina-bert-v3 llama-embed modern-bert neo-bert nomic-bert
  nomic-bert-moe`.split(/\s+/),
)

/** Architectures that llama.cpp knows but that cannot chat, with what they are. */
export const OTHER_ARCHITECTURES: Readonly<Record<string, string>> = {
  ...roleOf('an encoder, which does not run here', 't5encoder'),
  ...roleOf('a translation model with an encoder', 't5'),
  ...roleOf('a diffusion model, which does not write token by token', 'dream llada llada-moe rnd1'),
  ...roleOf('a part of another model that drafts its tokens', 'dflash eagle3 gemma4-assistant'),
  ...roleOf('the image part of another model', 'clip'),
  ...roleOf('a speech model', 'pockettts qwen3tts wavtokenizer-dec'),
}

/** Those of the above that keep state instead of attending to earlier tokens, in some or all blocks. */
export const RECURRENT_ARCHITECTURES: ReadonlySet<string> = new Set(
  `arwkv7 bailingmoe3 deepseek4 falcon-h1 granitehybrid jamba kimi-k3 kimi-linear lfm2 lfm2moe mamba mamba2 minimax-01
  nemotron_h nemotron_h_moe plamo2 qwen35 qwen35moe qwen3next qwen4exp rwkv6 rwkv6qwen2 rwkv7`.split(/\s+/),
)

function roleOf(role: string, names: string): Record<string, string> {
  return Object.fromEntries(names.split(' ').map((name) => [name, role]))
}
