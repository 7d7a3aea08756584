import { once } from 'node:events'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { testEngines } from '../../inference/engines/optional/test-engines.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

const start = async (engines: string | null = testEngines) => {
  const home = await emptyFolder()
  await mkdir(home, { recursive: true })
  if (engines !== null) await symlink(engines, join(home, 'engines'))
  return { home, svc: (...argv: string[]) => runInProcess(argv, { env: { SERVICE_HOME: home } }) }
}

const WHISPER = 'test/fixtures/models/tiny-whisper'
const BIGRAM = 'test/fixtures/models/tiny-bigram'
const BERT = 'test/fixtures/models/tiny-bert'
const RECORDING = 'test/fixtures/audio/one-two-three.wav'

describe.skipIf(testEngines === null)('with onnxruntime (svc engines install onnxruntime)', () => {
  it('transcribe prints the text of a recording', async () => {
    const { svc } = await start()
    expect(await svc('transcribe', RECORDING, '-m', WHISPER)).toEqual({
      exitCode: 0,
      stdout: 'one two three\n',
      stderr: '',
    })
  })

  it('transcribe writes subtitles or JSON depending on the file extension', async () => {
    const { home, svc } = await start()
    const path = join(home, 'said.json')
    const ran = await svc('transcribe', RECORDING, '-m', WHISPER, '--language', 'en', '-o', path)
    expect(ran).toEqual({ exitCode: 0, stdout: '', stderr: `Written to ${path}.\n` })
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      task: 'transcribe',
      language: 'en',
      duration: 0.8,
      text: 'one two three',
      segments: [{ id: 0, start: 0, end: 0.8, text: 'one two three' }],
    })
  })

  it.each([
    [['--context', '16'], 'a custom context length. Leave out --context.'],
    [['--slots', '3'], 'parallel replies. Leave out --slots.'],
    [['--draft', 'prompt-lookup'], 'speculative decoding. Leave out --draft.'],
    [['--slots', '2', '--models', 'starter'], 'parallel replies. Leave out --slots, or name starter first.'],
    [['--json-mode'], 'JSON mode. Leave out --json-mode.'],
  ])('serve refuses %j for an ONNX model', async (options, what) => {
    const { svc } = await start()
    const ran = await svc('serve', BIGRAM, '--host', '127.0.0.1', '--port', '0', '--no-announce', ...options)
    expect(ran).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`onnxruntime does not support ${what}`),
    })
  })

  it('embed prints a vector, or writes it to a file', async () => {
    const { home, svc } = await start()
    const printed = JSON.parse((await svc('embed', BERT, 'the sky')).stdout)
    expect(printed).toEqual({
      model: 'tiny-bert',
      engine: 'onnxruntime',
      tokens: 4,
      dimensions: 64,
      embedding: expect.any(Array),
    })
    expect(Math.hypot(...printed.embedding)).toBeCloseTo(1, 5)
    const path = join(home, 'vector.json')
    await svc('embed', BERT, 'the sky', '--output', path)
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(printed)
  })

  it('refuses a model of the wrong kind', async () => {
    const { svc } = await start()
    expect((await svc('embed', WHISPER, 'the sky')).stderr).toMatch(
      /^svc: The model '.*' does not compute embeddings\.\n/,
    )
    expect((await svc('transcribe', RECORDING, '-m', BERT)).stderr).toMatch(
      /^svc: The model '.*' does not transcribe\.\n/,
    )
    expect((await svc('transcribe', 'package.json', '-m', WHISPER)).stderr).toMatch(
      /^svc: package\.json: .*(?:ffmpeg|WAV)/,
    )
  })
})

it('asks for a Whisper model if it is missing', async () => {
  const { svc } = await start(null)
  const { exitCode, stderr } = await svc('transcribe', RECORDING)
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^svc: There is no model 'whisper-base'\./)
  expect(stderr).toContain(
    '\nGet the default model with: svc add whisper-base hf:onnx-community/whisper-base\nOr name the folder of an ONNX Whisper model with --model: ',
  )
})

it('says which models can embed if the given one cannot', async () => {
  const { svc } = await start(null)
  expect(await svc('embed', 'starter', 'the sky')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      "svc: The model 'starter' does not compute embeddings.\n" +
      'Use a GGUF embedding model, or the folder of an ONNX one, such as a sentence-transformers model with onnx/model.onnx.\n',
  })
})

it('embed uses the server whose address is given as the engine', async () => {
  const server = createServer((request, response) => {
    const isEmbedding = request.url === '/v1/embeddings'
    response.writeHead(isEmbedding ? 200 : 404, { 'content-type': 'application/json' })
    response.end(isEmbedding ? '{"data":[{"index":0,"embedding":[0.5,1]}],"usage":{"prompt_tokens":3}}' : '{}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { svc } = await start(null)
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const { stdout, stderr } = await svc('embed', 'm', 'the sky', '--engine', address)
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ model: 'm', engine: 'openai', tokens: 3, dimensions: 2, embedding: [0.5, 1] })
})

it('run says that the server of --engine stopped a reply with its content filter', async () => {
  const server = createServer((_request, response) => {
    const choice = { message: { content: 'I' }, finish_reason: 'content_filter' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [choice] }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { svc } = await start(null)
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  expect(await svc('run', 'm', 'hi', '--engine', address)).toEqual({
    exitCode: 0,
    stdout: 'I\n',
    stderr: 'The reply was stopped by the content filter of the server.\n',
  })
})

it('without onnxruntime, explains how to install it', async () => {
  const { svc } = await start(null)
  const { exitCode, stderr } = await svc('embed', BERT, 'the sky')
  expect(exitCode).toBe(1)
  expect(stderr).toContain('onnxruntime is not installed. Install it: svc engines install onnxruntime')
})

it('refuses a missing or invalid recording, and an unknown language', async () => {
  const { home, svc } = await start(null)
  expect([
    (await svc('transcribe', 'package.json', '-m', WHISPER)).stderr,
    (await svc('transcribe', join(home, 'nothing.wav'))).stderr,
    (await svc('transcribe', RECORDING, '--language', 'English')).exitCode,
    (await svc('transcribe', 'package.json', '-o', './package.json')).stderr,
  ]).toEqual([
    expect.stringMatching(/^svc: .*onnxruntime/s),
    `svc: Cannot use ${join(home, 'nothing.wav')}: it does not exist.\n`,
    2,
    'svc: The transcript would replace package.json.\nChoose another file with --output.\n',
  ])
  const missing = join(home, 'absent', 'said.txt')
  for (const command of [
    ['transcribe', RECORDING],
    ['embed', BERT, 'the sky'],
  ]) {
    expect((await svc(...command, '-o', missing)).stderr).toMatch(
      /^svc: There is no folder .*absent\.\nCreate it\. Or: /,
    )
    expect((await svc(...command, '-o', home)).stderr).toBe(
      `svc: ${home} is a folder.\nChoose another file with --output.\n`,
    )
  }
})

// Root may write to any folder.
it.skipIf(process.getuid?.() === 0)(
  'writes through a link whose own folder is not writable, such as /dev/stdout',
  async () => {
    const { home, svc } = await start(null)
    await mkdir(join(home, 'links'))
    await writeFile(join(home, 'said.txt'), '')
    await symlink(join(home, 'said.txt'), join(home, 'links', 'said'))
    await chmod(join(home, 'links'), 0o500)
    onTestFinished(() => chmod(join(home, 'links'), 0o700))
    const { stderr } = await svc('embed', BERT, 'the sky', '-o', join(home, 'links', 'said'))
    expect(stderr).toContain('onnxruntime is not installed.')
  },
)

it.skipIf(process.platform === 'win32')('transcribe stops reading a recording without end at its limit', async () => {
  const { svc } = await start(null)
  expect(await svc('transcribe', '/dev/zero')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      'svc: /dev/zero is more than 128 MB; at most 128 MB can be read.\n' +
      'Split the recording, or convert it to MP3.\n',
  })
})
