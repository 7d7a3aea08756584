import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadAddon } from '../../inference/engines/llama/binding/load-addon.ts'
import { loadModel } from '../../inference/engines/llama/binding/load-model.ts'
import { convertHuggingFaceToGguf } from './convert-hugging-face.ts'
import { convertLoraToGguf, type LoraOptions } from './convert-lora.ts'
import { quantizeGguf } from './quantize-gguf.ts'

// Transformers models with random weights, and their output for a prompt (test/fixtures/gguf/make_models.py).
const fixtures = join(import.meta.dirname, '../../../test/fixtures/gguf')
interface Expected {
  readonly prompt: string
  readonly tokens: readonly number[]
  readonly generated: readonly number[]
  readonly with_adapter?: readonly number[]
}
const expected = JSON.parse(readFileSync(join(fixtures, 'models.json'), 'utf8')) as Record<string, Expected>
const root = mkdtempSync(join(tmpdir(), 'hugging-face-'))
afterAll(() => rmSync(root, { recursive: true }))

/** Functions of the addon that the server's binding does not need. */
interface LoraAddon {
  readonly AddonModelLora: new (model: object, path: string) => object
  readonly AddonContext: new (model: object, options: object) => LoraContext
  readonly AddonSampler: new (model: object) => { applyConfig(config: object): void }
}
interface LoraContext {
  init(): Promise<boolean>
  setLoras(adapters: readonly object[], scales: readonly number[]): void
  initBatch(size: number): void
  addToBatch(sequence: number, position: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array
  decodeBatch(): Promise<void>
  sampleToken(output: number, sampler: object): Promise<number>
  dispose(): Promise<void>
}

/** llama.cpp's tokens for a prompt, and the most likely ones that follow. */
const run = async (path: string, prompt: string, adapter: string | null = null) => {
  const addon = await loadAddon(null)
  const { AddonContext, AddonModelLora, AddonSampler } = addon as unknown as LoraAddon
  const model = await loadModel(path, addon)
  const options = {
    contextSize: 256,
    batchSize: 128,
    sequences: 1,
    threads: 1,
    flashAttention: 'auto',
    swaFullCache: true,
  }
  const context = new AddonContext(model.handle, options)
  await context.init()
  if (adapter !== null) {
    const lora = new AddonModelLora(model.handle, adapter)
    await (model.handle as unknown as { loadLora(lora: object): Promise<void> }).loadLora(lora)
    context.setLoras([lora], [1])
  }
  const sampler = new AddonSampler(model.handle)
  sampler.applyConfig({ temperature: 0 })
  const tokens = [...(model.firstToken === null ? [] : [model.firstToken]), ...model.tokenize(prompt, false)]
  const generated: number[] = []
  for (let rest = tokens, position = 0; generated.length < 16; ) {
    context.initBatch(rest.length)
    const [output] = context.addToBatch(0, position, Uint32Array.from(rest), Uint32Array.from([rest.length - 1]))
    await context.decodeBatch()
    position += rest.length
    const token = await context.sampleToken(output!, sampler)
    generated.push(token)
    rest = [token]
  }
  await context.dispose()
  return { tokens, generated, template: model.chatTemplate, eos: model.eosToken }
}

describe.each(Object.entries(expected))('%s', (name, { prompt, tokens, generated }) => {
  it.each(['f32', 'f16'] as const)('generates the same in llama.cpp as in transformers: %s', async (type) => {
    const target = join(root, `${name}-${type}.gguf`)
    const result = await convertHuggingFaceToGguf(join(fixtures, name), target, { type, threads: 1 })
    expect(result.architecture).toBe(name.startsWith('qwen') ? name : 'llama')
    expect(await run(target, prompt)).toEqual({
      tokens,
      generated,
      template: name.startsWith('qwen') ? expect.stringContaining('<|im_start|>') : null,
      eos: { llama: '<|end_of_text|>', 'sentence-pieces': '</s>' }[name] ?? '<|im_end|>',
    })
  })
})

it('can be quantized like any other model', async () => {
  const direct = join(root, 'direct.gguf')
  const later = join(root, 'later.gguf')
  await convertHuggingFaceToGguf(join(fixtures, 'llama'), direct, { type: 'q8_0' })
  const { tensors } = await quantizeGguf(join(root, 'llama-f32.gguf'), later, 'q8_0')
  expect(tensors).toEqual({ F32: 14, Q8_0: 14, F16: 2 })
  expect((await run(direct, 'a')).generated).toEqual((await run(later, 'a')).generated)
})

describe('an adapter', () => {
  it.each(['llama', 'qwen2'])('has the same effect in llama.cpp as in PyTorch: %s', async (name) => {
    const base = join(root, `${name}-f32.gguf`)
    const target = join(root, `${name}-lora.gguf`)
    const result = await convertLoraToGguf(join(fixtures, `${name}-lora`), target, { base })
    expect(result).toMatchObject({ architecture: name, tensors: { F32: 16 } })
    expect((await run(base, expected[name]!.prompt, target)).generated).toEqual(expected[name]!.with_adapter)
    const fromFolder = join(root, 'from-folder.gguf')
    const file = join(fixtures, `${name}-lora`, 'adapter_model.safetensors')
    await convertLoraToGguf(file, fromFolder, { base: join(fixtures, name) })
    expect(readFileSync(fromFolder)).toEqual(readFileSync(target))
  })

  it.each<[string, LoraOptions, Record<string, unknown>, RegExp]>([
    ['without its base model', {}, {}, /^The base model 'somebody\/llama' of the adapter is not here\. Give its path/],
    [
      'of another model',
      { base: join(fixtures, 'qwen3') },
      {},
      /^The adapter adds .* to 'blk\.0\.\w+\.weight', which has/,
    ],
    [
      'of DoRA',
      { base: join(fixtures, 'llama') },
      { use_dora: true },
      /^'use_dora' in adapter_config\.json is true, which/,
    ],
    [
      'with whole modules',
      { base: join(fixtures, 'llama') },
      { modules_to_save: ['lm_head'] },
      /^'modules_to_save' in/,
    ],
    ['without an alpha', { base: join(fixtures, 'llama') }, { lora_alpha: null }, /^The adapter's alpha is not known/],
  ])('is refused %s', async (_, options, change, message) => {
    const folder = mkdtempSync(join(root, 'adapter-'))
    cpSync(join(fixtures, 'llama-lora'), folder, { recursive: true })
    const path = join(folder, 'adapter_config.json')
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }))
    await expect(convertLoraToGguf(folder, join(folder, 'out.gguf'), options)).rejects.toThrow(message)
    expect(existsSync(join(folder, 'out.gguf'))).toBe(false)
  })
})

describe('a folder is refused', () => {
  const refusal = async (change: (folder: string) => void): Promise<string> => {
    const folder = mkdtempSync(join(root, 'model-'))
    cpSync(join(fixtures, 'qwen2'), folder, { recursive: true })
    change(folder)
    const before = readdirSync(folder)
    const error = await convertHuggingFaceToGguf(folder, join(folder, 'out.gguf')).then(
      () => new Error('It was converted.'),
      (reason: Error) => reason,
    )
    expect(readdirSync(folder)).toEqual(before)
    return error.message.replaceAll(folder, '')
  }
  const edit = (name: string, change: Record<string, unknown>) => (folder: string) => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }))
  }

  it.each<[string, (folder: string) => void, RegExp]>([
    ['without config.json', (folder) => rmSync(join(folder, 'config.json')), /^There is no config\.json in ''/],
    ['without weights', (folder) => rmSync(join(folder, 'model.safetensors')), /^There is no model\.safetensors/],
    ['of another family', edit('config.json', { model_type: 'gpt2' }), /^Models of the type 'gpt2'/],
    ['whose type is a word of JavaScript', edit('config.json', { model_type: 'constructor' }), /^Models of the type/],
    [
      'with fewer layers than weights',
      edit('config.json', { num_hidden_layers: 1 }),
      /^Tensor 'model\.layers\.1\.\S+' does not belong to a model/,
    ],
    ['with more', edit('config.json', { num_hidden_layers: 3 }), /^The model lacks .* 'blk\.2\./],
    ['of other sizes', edit('config.json', { intermediate_size: 64 }), /has the shape .*; config\.json asks for/],
    [
      'with a vocabulary too small',
      edit('config.json', { vocab_size: 20 }),
      /^Tensor 'model\.embed_tokens\.weight' has the shape/,
    ],
    [
      'with nonsense',
      edit('config.json', { num_attention_heads: '4' }),
      /^'num_attention_heads' in config\.json is "4"/,
    ],
    [
      'with an unknown rotation',
      edit('config.json', { rope_parameters: { rope_type: 'longrope' } }),
      /^The rope type 'longrope'/,
    ],
    [
      'with another tokenizer',
      edit('tokenizer.json', { model: { type: 'Unigram' } }),
      /^The tokenizer in tokenizer\.json is 'Unigram'/,
    ],
    [
      'that splits text otherwise',
      edit('tokenizer.json', { pre_tokenizer: { type: 'Whitespace' } }),
      /^tokenizer\.json splits text/,
    ],
    [
      'with broken JSON',
      (folder) => writeFileSync(join(folder, 'config.json'), '{'),
      /config\.json' is not valid JSON/,
    ],
    [
      'with broken weights',
      (folder) => writeFileSync(join(folder, 'model.safetensors'), 'no'),
      /^'\/model\.safetensors': /,
    ],
    [
      'whose index leaves it',
      (folder) => writeFileSync(join(folder, 'model.safetensors.index.json'), '{"weight_map":{"a":"../b"}}'),
      /^The index of '' names '\.\.\/b', which is not in the folder\./,
    ],
  ])('%s', async (_, change, message) => {
    expect(await refusal(change)).toMatch(message)
  })
})
