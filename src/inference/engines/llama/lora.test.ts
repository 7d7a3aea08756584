import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { makeGguf } from '../../models/gguf/write-gguf.fixture.ts'
import { openLlamaEngine } from './open-engine.ts'

const STARTER = 'models/starter.gguf'
const ADAPTER = 'test/fixtures/models/tiny-lora.gguf'

const open = (lora: readonly string[]) =>
  openLlamaEngine({
    name: 'starter',
    path: STARTER,
    threads: 1,
    slots: 1,
    cacheMegabytes: 0,
    lora,
    log: () => undefined,
  })

const story = async (lora: readonly string[]): Promise<string> => {
  const engine = await open(lora)
  try {
    let text = ''
    const request = {
      messages: [{ role: 'user', content: 'Tell me a story.' }],
      maxTokens: 20,
      temperature: 0,
      topP: 1,
      seed: 1,
      stop: [],
      responseFormat: { type: 'text' },
    } as const
    for await (const event of engine.chat!(request, new AbortController().signal)) {
      if (event.type === 'text') text += event.text
    }
    return text
  } finally {
    await engine.close()
  }
}

test("an adapter changes the model's text, the same way each time", async () => {
  const [plain, adapted, again] = [await story([]), await story([ADAPTER]), await story([ADAPTER])]
  expect(adapted).not.toBe(plain)
  expect(again).toBe(adapted)
})

test('an adapter that does not fit the model is refused with the reason before llama.cpp reads it', async () => {
  const folder = await emptyFolder()
  const made = async (name: string, architecture: string, shape: readonly number[]) => {
    const path = join(folder, name)
    const metadata = {
      'general.type': ['string', 'adapter'],
      'general.architecture': ['string', architecture],
      'adapter.type': ['string', 'lora'],
      'adapter.lora.alpha': ['f32', 8],
    } as const
    const tensors = [
      { name: 'blk.0.attn_q.weight.lora_a', shape },
      { name: 'blk.0.attn_q.weight.lora_b', shape: [4, 256] },
    ]
    await writeFile(path, makeGguf({ metadata, tensors }))
    return path
  }
  const cases = [
    [STARTER, 'is not a LoRA adapter'],
    [join(folder, 'nothing.gguf'), 'There is no LoRA adapter'],
    [await made('other.gguf', 'qwen2', [256, 4]), "for the architecture 'qwen2', but the model has 'llama'"],
    [await made('small.gguf', 'llama', [128, 4]), "'blk.0.attn_q.weight' has a different shape there"],
  ] as const
  for (const [path, words] of cases) await expect(open([path])).rejects.toThrow(words)
})
