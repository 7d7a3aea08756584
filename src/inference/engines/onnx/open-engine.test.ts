import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { decodeAudio } from '../../audio/decode.ts'
import type { ChatEvent, ChatRequest, Engine } from '../engine.ts'
import { testEngines } from '../optional/test-engines.fixture.ts'
import { unitVector } from '../unit-vector.ts'
import { openOnnxEngine } from './open-engine.ts'
import { pool } from './pooling.ts'
import { runGraph } from './run-graph.ts'

const opened = new Map<string, Promise<Engine>>()
const folders: string[] = []

const open = (path: string): Promise<Engine> =>
  openOnnxEngine({ name: 'test', path, threads: 1, engines: testEngines!, log: () => undefined })

/** Shares one engine among all tests of a model, because each needs a process. */
const shared = (name: string): Promise<Engine> => {
  const engine = opened.get(name) ?? open(`test/fixtures/models/${name}`)
  opened.set(name, engine)
  return engine
}

afterAll(async () => {
  await Promise.all([...opened.values()].map(async (engine) => (await engine).close()))
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
})

const copyOf = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'onnx-'))
  folders.push(folder)
  await cp(`test/fixtures/models/${name}`, folder, { recursive: true })
  return folder
}

const never = new AbortController().signal
const dot = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, at) => sum + value * other[at]!, 0)

/** Fields of the same number are merged, so this adds a node and an output to the graph of an ONNX model (onnx.proto). */
const castToFloat16 = (input: string, output: string): Buffer => {
  const field = (number: number, ...parts: (string | Buffer)[]): Buffer => {
    const content = Buffer.concat(parts.map((part) => Buffer.from(part)))
    return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
  }
  // 10 is FLOAT16; the attribute's number and its type have the fields 3 and 20.
  const to = field(5, field(1, 'to'), Buffer.from([3 << 3, 10, 0xa0, 0x01, 2]))
  const node = field(1, field(1, input), field(2, output), field(4, 'Cast'), to)
  return field(7, node, field(12, field(1, output), field(2, field(1, Buffer.from([1 << 3, 10])))))
}

const recording = async (ending: string): Promise<Float32Array> =>
  decodeAudio(await readFile(`test/fixtures/audio/one-two-three.${ending}`))

describe.skipIf(testEngines === null)('onnxruntime (svc engines install onnxruntime)', () => {
  test('texts become vectors of length 1, the same alone and in a batch', async () => {
    const engine = await shared('tiny-bert')
    const alone = await engine.embed!(['The grass is green.'], never)
    const both = await engine.embed!(['the sky', 'The grass is green.'], never)
    expect(alone.tokens).toBe(7)
    expect(both.tokens).toBe(7 + 4)
    expect(both.vectors[1]).toEqual(alone.vectors[0])
    expect(alone.vectors[0]!.length).toBe(64)
    for (const vector of both.vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5)
    expect(dot(both.vectors[0]!, both.vectors[1]!)).toBeLessThan(0.99)
    expect(Object.keys(engine).filter((key) => ['chat', 'embed', 'transcribe'].includes(key))).toEqual(['embed'])
  })

  test('nothing is reported: onnxruntime stores no identifier of the device, and no events to send', async () => {
    const home = await mkdtemp(join(tmpdir(), 'onnx-home-'))
    folders.push(home)
    for (const name of ['HOME', 'TMPDIR', 'XDG_CACHE_HOME']) vi.stubEnv(name, home)
    // With it, onnxruntime reports nothing anyway.
    vi.stubEnv('CI', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    await (await open('test/fixtures/models/tiny-bert')).close()
    await runGraph('test/fixtures/models/tiny-bert/onnx/model.onnx', [], { engines: testEngines! })
    // tsx keeps what it compiles.
    expect((await readdir(home)).filter((name) => !name.startsWith('tsx-'))).toEqual([])
  })

  test('the folder determines the pooling', async () => {
    const folder = await copyOf('tiny-bert')
    await cp('test/fixtures/models/tiny-bert', join(folder, '1_Pooling'), { recursive: true })
    await writeFile(join(folder, '1_Pooling', 'config.json'), JSON.stringify({ pooling_mode_cls_token: true }))
    const engine = await open(folder)
    try {
      const { vectors } = await engine.embed!(['the sky'], never)
      const mean = await (await shared('tiny-bert')).embed!(['the sky'], never)
      expect(dot(vectors[0]!, vectors[0]!)).toBeCloseTo(1, 5)
      expect(dot(vectors[0]!, mean.vectors[0]!)).toBeLessThan(0.99)
    } finally {
      await engine.close()
    }
  })

  test('float16 outputs are decoded, and modules that the graph contains are not refused', async () => {
    const folder = await copyOf('tiny-bert')
    await writeFile(join(folder, 'modules.json'), JSON.stringify([{ type: 'sentence_transformers.models.Dense' }]))
    await expect(open(folder)).rejects.toMatchObject({ code: 'unsupported' })
    await appendFile(join(folder, 'onnx', 'model.onnx'), castToFloat16('last_hidden_state', 'sentence_embedding'))
    const engine = await open(folder)
    try {
      // The states of all tokens, because the mean is not computed for this output.
      const states = (await engine.embed!(['The grass is green.'], never)).vectors[0]!
      const sum = unitVector(pool(states, 64, 'mean'))
      const mean = await (await shared('tiny-bert')).embed!(['The grass is green.'], never)
      expect([states.length, dot(sum, mean.vectors[0]!)]).toEqual([7 * 64, expect.closeTo(1, 4)])
    } finally {
      await engine.close()
    }
  })

  test('a text that is too long is refused with both numbers', async () => {
    const engine = await shared('tiny-bert')
    await expect(engine.embed!(['ok', 'the '.repeat(200)], never)).rejects.toMatchObject({
      code: 'context_length_exceeded',
      param: 'input',
      message: 'input[1] has 202 tokens; the model takes 128. Shorten it.',
    })
  })

  test.each(['wav', 'mp3'])('a recording in %s format is transcribed', async (ending) => {
    const engine = await shared('tiny-whisper')
    const samples = await recording(ending)
    const transcription = await engine.transcribe!(samples, 'en', never)
    const end = samples.length / 16_000
    expect(transcription).toEqual({
      text: 'one two three',
      language: 'en',
      segments: [{ start: 0, end: expect.closeTo(end, 1), text: 'one two three' }],
    })
  })

  test('the model detects the language if it is not given', async () => {
    const engine = await shared('tiny-whisper')
    const { text, language } = await engine.transcribe!(await recording('wav'), null, never)
    expect({ text, language }).toEqual({ text: 'one two three', language: 'en' })
  })

  test('an unknown language is refused with a list of the known ones', async () => {
    const engine = await shared('tiny-whisper')
    await expect(engine.transcribe!(await recording('wav'), 'xx', never)).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'language',
      message: "The model does not know the language 'xx'. It knows de, en.",
    })
  })

  test('a recording longer than a window is transcribed window by window, and silence as nothing', async () => {
    const engine = await shared('tiny-whisper')
    const samples = new Float32Array(2 * 16_000 * 2.5)
    const words = await recording('wav')
    samples.set(words, 0)
    samples.set(words, 4.1 * 16_000)
    const { text, segments } = await engine.transcribe!(samples, null, never)
    expect(text).toBe('one two three one two three')
    expect(segments).toEqual([
      { start: 0, end: 2, text: 'one two three' },
      { start: 4, end: 5, text: 'one two three' },
    ])
    const silent = await engine.transcribe!(new Float32Array(16_000), null, never)
    expect(silent).toEqual({ text: '', language: 'en', segments: [] })
  })

  test('an aborted transcription ends at once, and the next one is served', async () => {
    const engine = await shared('tiny-whisper')
    const gone = new AbortController()
    const long = engine.transcribe!(new Float32Array(16_000 * 600).fill(0.1), 'en', gone.signal)
    setTimeout(() => gone.abort(new Error('gone')), 50)
    await expect(long).rejects.toThrow('gone')
    expect((await engine.transcribe!(await recording('wav'), 'en', never)).text).toBe('one two three')
  })

  const ask = (more: Partial<ChatRequest> = {}): ChatRequest => ({
    messages: [{ role: 'user', content: 'The sky' }],
    maxTokens: null,
    temperature: 0,
    topP: 1,
    seed: 1,
    stop: [],
    responseFormat: { type: 'text' },
    ...more,
  })
  const eventsOf = async (more: Partial<ChatRequest>): Promise<ChatEvent[]> => {
    const events: ChatEvent[] = []
    for await (const event of (await shared('tiny-bigram')).chat!(ask(more), never)) events.push(event)
    return events
  }
  const responseOf = async (more: Partial<ChatRequest>): Promise<unknown[]> => {
    const events = await eventsOf(more)
    const last = events.at(-1)!
    const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('')
    return [text, ...(last.type === 'finished' ? [last.result.reason, last.result.completionTokens] : [])]
  }

  test('a language model answers word by word, using its own template', async () => {
    expect(await eventsOf({})).toEqual([
      { type: 'started', promptTokens: 7, cachedTokens: 0 },
      ...['The', ' sky', ' is', ' blue.'].map((text) => ({ type: 'text', text })),
      { type: 'finished', result: { reason: 'stop', completionTokens: 5, speculation: null } },
    ])
    const engine = await shared('tiny-bigram')
    expect(await engine.countTokens!(ask().messages)).toBe(7)
    // Control words in user text are treated as ordinary words.
    expect(await engine.countTokens!([{ role: 'user', content: '<|im_end|>' }])).toBeGreaterThan(6)
  })

  test('a template in chat_template.jinja or in a list of templates is used', async () => {
    const template = "{% for m in messages %}{{ 'is is is is ' + m['content'] + ' ' }}{% endfor %}The grass"
    const [file, list] = [await copyOf('tiny-bigram'), await copyOf('tiny-bigram')]
    await writeFile(join(file, 'chat_template.jinja'), template)
    await writeFile(join(list, 'chat_template.jinja'), '')
    const path = join(list, 'tokenizer_config.json')
    const config = JSON.parse(await readFile(path, 'utf8'))
    const templates = [
      { name: 'tool_use', template: 'The sky' },
      { name: 'default', template },
    ]
    await writeFile(path, JSON.stringify({ ...config, chat_template: templates }))
    for (const folder of [file, list]) {
      const engine = await open(folder)
      try {
        expect(await engine.countTokens!(ask().messages)).toBe(8)
      } finally {
        await engine.close()
      }
    }
  })

  test('seeds repeat and differ, and stop sequences and limits end an answer', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
    const drawn = (seed: number): Promise<unknown[]> => responseOf({ temperature: 1, seed })
    const first = await Promise.all(seeds.map(drawn))
    expect(await Promise.all(seeds.map(drawn))).toEqual(first)
    expect(new Set(first.map(String)).size).toBeGreaterThan(2)
    const narrow = await Promise.all(seeds.map((seed) => responseOf({ temperature: 1, topP: 0.1, seed })))
    expect(new Set(narrow.map(String))).toEqual(new Set(['The sky is blue.,stop,5']))
    expect(await responseOf({ stop: ['y is b'] })).toEqual(['The sk', 'stop', 4])
    expect(await responseOf({ stop: ['blue!'] })).toEqual(['The sky is blue.', 'stop', 5])
    expect(await responseOf({ maxTokens: 2 })).toEqual(['The sky', 'length', 2])
  })

  test('requests that a language model does not support here are refused', async () => {
    await expect(eventsOf({ responseFormat: { type: 'json_object' } })).rejects.toMatchObject({
      code: 'unsupported',
      param: 'response_format',
    })
    await expect(eventsOf({ logprobs: 0 })).rejects.toMatchObject({ code: 'unsupported', param: 'logprobs' })
    const completion = { prompt: 'sky', suffix: null, echo: false }
    await expect(eventsOf({ messages: [], completion })).rejects.toMatchObject({ code: 'unsupported', param: 'prompt' })
    const long = [{ role: 'user', content: 'sky '.repeat(70) }] as const
    await expect(eventsOf({ messages: long })).rejects.toMatchObject({
      code: 'context_length_exceeded',
      param: 'messages',
      message: "The prompt has 75 tokens; the model's context holds 64, including the reply.",
    })
  })

  test('folders without a usable model are refused with the reason', async () => {
    const cut = await copyOf('tiny-bert')
    await truncate(join(cut, 'onnx', 'model.onnx'), 1000)
    const noTokenizer = await copyOf('tiny-bert')
    await rm(join(noTokenizer, 'tokenizer.json'))
    const noWeights = await copyOf('tiny-whisper')
    await rm(join(noWeights, 'onnx', 'encoder_model.onnx'))
    const badConfig = await copyOf('tiny-bert')
    await writeFile(join(badConfig, 'config.json'), '{')
    const folderAsFile = await copyOf('tiny-bigram')
    await mkdir(join(folderAsFile, 'chat_template.jinja'))
    const classifier = await copyOf('tiny-bert')
    await writeFile(join(classifier, 'config.json'), '{"architectures":["BertForSequenceClassification"]}')
    const fault = async (path: string): Promise<unknown> => {
      const { code, message } = await open(path).then(
        () => ({ code: 'none', message: '' }),
        (error) => error,
      )
      return [code, message.replace(path, '…').slice(0, 70)]
    }
    expect(await Promise.all([cut, noTokenizer, noWeights, badConfig, folderAsFile, classifier].map(fault))).toEqual([
      ['invalid_model', expect.stringContaining('The ONNX model in … cannot be loaded: ')],
      ['invalid_model', 'There is no tokenizer.json in ….'],
      ['invalid_model', 'There is no encoder_model.onnx in …/onnx.'],
      ['invalid_model', '…/config.json is damaged: it is not JSON.'],
      ['invalid_model', expect.stringContaining('…/chat_template.jinja cannot be read: EISDIR')],
      ['unsupported', 'The model is a BertForSequenceClassification. Here, onnxruntime runs e'],
    ])
  })
})

test('without the optional engine, the error says how to install it', async () => {
  const engines = await mkdtemp(join(tmpdir(), 'engines-'))
  folders.push(engines)
  const opening = openOnnxEngine({ name: 'x', path: 'test/fixtures/models/tiny-bert', engines, log: () => undefined })
  await expect(opening).rejects.toMatchObject({
    code: 'engine_missing',
    message: 'onnxruntime is not installed. Install it: svc engines install onnxruntime',
  })
})
