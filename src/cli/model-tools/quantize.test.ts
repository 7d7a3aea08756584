import { copyFile, link, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { graphBuilder } from '../../convert/onnx/graph-builder.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { tensorOf } from '../../convert/onnx/tensors.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { onnxToCoreml } from '../../convert/to-coreml/onnx-to-coreml.ts'
import { onnxToTflite } from '../../convert/to-tflite/onnx-to-tflite.ts'
import {
  testEngines,
  tfliteEngines,
  WITHOUT,
  WITHOUT_LITERT,
} from '../../inference/engines/optional/test-engines.fixture.ts'
import { writeNpz } from '../../tensors/write-npz.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { belowThreshold } from './quantize-output.ts'

const network = (): Uint8Array => {
  const graph = graphBuilder('network')
  const weights = Array.from({ length: 4096 }, (_, at) => Math.sin(at * 0.7) + Math.cos(at * 0.013))
  const x = graph.input('x', 'f32', ['batch', 64])
  const product = graph.node('MatMul', [x, graph.constant('w', tensorOf('f32', [64, 64], weights))])
  graph.output('y', graph.node('Relu', [product]), 'f32', ['batch', 64])
  return writeOnnx(graph.build())
}

/** A folder with a model, and `svc` running in it. To use an engine, pass the parent of its folder as `home`. */
const start = async (home?: string) => {
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'net.onnx'), network())
  const env = { SERVICE_HOME: home ?? (await emptyFolder()) }
  return { cwd, svc: (...argv: string[]) => runInProcess(['quantize', ...argv], { cwd, env }) }
}

it('writes a smaller model next to the original, and without an engine says that its quality was not measured', async () => {
  const { cwd, svc } = await start()
  const { exitCode, stdout, stderr } = await svc('net.onnx', '-m', 'dynamic')
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr:
      'quantizing: dynamic\nThe quality was not measured: no engine for ONNX is installed (svc engines install onnxruntime).\n',
  })
  expect(stdout).toContain(`Written: ${join(cwd, 'quantized', 'net-dynamic.onnx')}`)
  expect((await stat(join(cwd, 'quantized', 'net-dynamic.onnx'))).size).toBeLessThan(network().length / 2)
  expect(await readdir(join(cwd, 'quantized'))).toEqual(['net-dynamic.onnx'])
})

it('accepts a file name for --output, and prints the result as JSON', async () => {
  const { cwd, svc } = await start()
  const { exitCode, stdout } = await svc('net.onnx', '-m', 'float16', '-o', 'out/half.onnx', '--json')
  const output = join(cwd, 'out/half.onnx')
  const { size } = await stat(output)
  const unmeasured = {
    ...{ quality: null, cosine: null, same_class: null, same_token: null, perplexity: null, kl_divergence: null },
    ...{ milliseconds: null, reason: null },
  }
  expect({ exitCode, result: JSON.parse(stdout) }).toEqual({
    exitCode: 0,
    result: {
      model_path: join(cwd, 'net.onnx'),
      output_path: output,
      method: 'float16',
      size_bytes: size,
      quality_threshold: null,
      samples: null,
      candidates: [
        { method: 'original', size_bytes: network().length, ...unmeasured },
        { method: 'float16', size_bytes: size, ...unmeasured },
      ],
    },
  })
})

it.each([
  [['net.onnx'], 1, 'svc: The quality cannot be measured, and nothing was written: no engine for ONNX is installed'],
  [
    ['net.onnx', '-m', 'int8', '--quality-threshold', '0.9'],
    1,
    'no engine for ONNX is installed (svc engines install onnxruntime).',
  ],
  [['net.onnx', '-m', 'int3'], 2, "svc: option '-m, --method <method>' argument 'int3' is invalid."],
  [['net.onnx', '--quality-threshold', '2'], 2, "svc: option '--quality-threshold <share>' argument '2' is invalid."],
  [['absent.onnx', '-m', 'int8'], 1, 'svc: There is no file or folder absent.onnx.'],
  [['/dev/null', '-m', 'int8'], 1, 'svc: /dev/null is not a regular file.\nGive the path of a model file.\n'],
  [['net.pt', '-m', 'int8'], 2, 'svc: net.pt cannot be quantized.'],
  [['my nets/net.pt', '-m', 'int8'], 2, "/my nets/net.pt'\n"],
  [['damaged.onnx', '-m', 'int8'], 1, 'svc: '],
  [['net.onnx', '-m', 'int8', '-o', 'net.onnx'], 2, 'svc: The result would replace'],
  [['net.onnx', '-m', 'int8', '-o', 'link.onnx'], 2, 'svc: The result would replace'],
  [['net.onnx', '-m', 'int8', '-o', 'taken.onnx'], 2, 'taken.onnx, which is a folder.'],
  [['net.onnx', '-m', 'int8', '-o', 'net.pt'], 1, 'net.pt: it is a file, not a folder.'],
  [['net.onnx', '-m', 'int8', '--data', '.'], 1, 'svc: --data . is a folder. Give the path of a file.'],
  [['chat.gguf', '-m', 'int8', '--data', '.'], 1, 'svc: --data . is a folder. Give the path of a file.'],
  [['chat.gguf', '-m', 'int8', '--data', 'net.onnx'], 1, 'svc: --data net.onnx is not a text in UTF-8.'],
  [['chat.gguf', '-m', 'int8', '--data', 'chat.gguf'], 1, 'svc: --data chat.gguf contains no text.'],
  [['empty', '-m', 'int8'], 1, 'svc: There is no model in empty that can be quantized.'],
  [['text.mlmodel', '-m', 'int8'], 1, 'svc: text.mlmodel is text, not a model.'],
  [['nothing.onnx', '-m', 'int8'], 1, 'svc: nothing.onnx is empty.'],
  [['net.onnx', '--data', 'text.npz'], 1, '--data text.npz: The file is text, not a NumPy .npz or .npy file.'],
  [['net.onnx', '--data', 'nothing.npz'], 1, '--data nothing.npz: The file is empty.'],
  [['net.onnx', '--data', 'text.jsonl'], 1, '--data text.jsonl: Line 1 is not JSON.'],
] as const)('%j exits with %i', async (argv, expected, message) => {
  const { cwd, svc } = await start()
  await writeFile(join(cwd, 'net.pt'), 'weights')
  await mkdir(join(cwd, 'my nets'))
  await writeFile(join(cwd, 'my nets', 'net.pt'), 'weights')
  await writeFile(join(cwd, 'damaged.onnx'), network().subarray(0, 900))
  await mkdir(join(cwd, 'empty'))
  for (const name of ['text.mlmodel', 'text.npz', 'text.jsonl']) await writeFile(join(cwd, name), 'some words')
  for (const name of ['nothing.onnx', 'nothing.npz']) await writeFile(join(cwd, name), '')
  await mkdir(join(cwd, 'taken.onnx', 'kept'), { recursive: true })
  await writeFile(join(cwd, 'chat.gguf'), '')
  await link(join(cwd, 'net.onnx'), join(cwd, 'link.onnx'))
  const before = await readdir(cwd)
  const { exitCode, stderr } = await svc(...argv)
  expect({ exitCode, says: stderr.includes(message), stderr }).toEqual({ exitCode: expected, says: true, stderr })
  expect(await readdir(cwd)).toEqual(before)
})

it('detects an impossible output path before doing any work', async () => {
  const { svc } = await start()
  const { stderr } = await svc('net.onnx', '-m', 'int8', '-o', 'net.onnx')
  expect(stderr).not.toContain('quantizing')
})

it('says if the result is larger than the original', async () => {
  const { cwd, svc } = await start()
  const graph = graphBuilder('many')
  const x = graph.input('x', 'f32', [1, 16])
  const weight = graph.constant('w', tensorOf('f32', [16, 16], new Array<number>(256).fill(0.5)))
  const sums = Array.from({ length: 40 }, () => graph.node('MatMul', [x, weight]))
  graph.output('y', graph.node('Sum', sums), 'f32', [1, 16])
  await writeFile(join(cwd, 'many.onnx'), writeOnnx(graph.build()))
  const { exitCode, stderr } = await svc('many.onnx', '-m', 'dynamic')
  expect(exitCode).toBe(0)
  expect(stderr).toMatch(/The result is larger than the original: \d+ kB instead of \d+ kB\./)
})

it('shows enough digits to tell a missed threshold from the result', () => {
  const rows = [{ method: 'original' }, { method: 'int8', quality: 0.98 }, { method: 'float16', quality: 0.9999999 }]
  expect(belowThreshold(rows, 1)).toBe('no result reaches the quality 1; the best is 0.9999999 (float16)')
  expect(belowThreshold(rows.slice(0, 2), 0.99)).toBe('no result reaches the quality 0.99; the best is 0.9800 (int8)')
  expect(belowThreshold([], 0.5)).toBe('no result reaches the quality 0.5')
})

it('quantizes .mlmodel, .mlpackage, and .tflite files, without measurement if there is no engine', async () => {
  const { cwd, svc } = await start()
  const model = readOnnx(network())
  await writeFile(join(cwd, 'net.mlmodel'), onnxToCoreml(model).bytes)
  await writeFile(join(cwd, 'net.tflite'), onnxToTflite(model).bytes)
  const inside = 'Data/com.apple.CoreML/model.mlmodel'
  await mkdir(join(cwd, 'net.mlpackage', 'Data/com.apple.CoreML'), { recursive: true })
  await writeFile(join(cwd, 'net.mlpackage', inside), onnxToCoreml(model).bytes)
  await writeFile(join(cwd, 'net.mlpackage', 'Manifest.json'), '{}')
  const sizes = []
  for (const [name, made] of [
    ['net.mlmodel', 'net-int8.mlmodel'],
    ['net.tflite', 'net-int8.tflite'],
    ['net.mlpackage', `net-int8.mlpackage/${inside}`],
    ['net.mlpackage', 'net-int8.mlpackage/Manifest.json'],
  ] as const) {
    expect(await svc(name, '-m', 'int8')).toMatchObject({ exitCode: 0 })
    sizes.push((await stat(join(cwd, 'quantized', made))).size)
  }
  expect(sizes.slice(0, 3).every((size) => size > 4096 && size < 8192)).toBe(true)
  expect(await svc('net.tflite', '-m', 'int4')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('TFLite models do not support int4'),
  })
  expect(await svc('net.mlmodel', '-m', 'int8', '--quality-threshold', '0.9')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no engine for ONNX is installed (svc engines install onnxruntime).'),
  })
  const unmeasured = await svc('net.tflite')
  expect(unmeasured).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('no engine for TensorFlow Lite is installed (svc engines install litert).'),
  })
  expect(unmeasured.stdout).toContain('net-dynamic.tflite')
})

it('measures a language model on a text, and auto takes the smallest result that meets the threshold', async () => {
  const { cwd, svc } = await start()
  await copyFile(new URL('../../../test/fixtures/models/tiny-chat-q8_0.gguf', import.meta.url), join(cwd, 'chat.gguf'))
  await writeFile(join(cwd, 'text.txt'), 'What is the capital of France? The capital of France is Paris.\n'.repeat(20))
  const { exitCode, stdout } = await svc('chat.gguf', '--quality-threshold', '0.995', '--data', 'text.txt', '--json')
  const { method, samples, candidates } = JSON.parse(stdout)
  expect({ exitCode, method, samples }).toEqual({
    exitCode: 0,
    method: 'q8_0',
    samples: { count: expect.any(Number), of: 'tokens', from: 'text.txt' },
  })
  const [original, small, chosen] = candidates
  expect([original.method, small.method, chosen.method]).toEqual(['original', 'q4_k_m', 'q8_0'])
  expect(original).toMatchObject({ quality: 1, kl_divergence: 0, same_token: 1 })
  // The source is already Q8_0.
  expect(chosen).toMatchObject({ quality: 1, perplexity: original.perplexity, same_token: 1 })
  expect(small.quality).toBeCloseTo(Math.exp(-small.kl_divergence), 12)
  expect(small.quality).toBeLessThan(0.995)
  expect(await readdir(join(cwd, 'quantized'))).toEqual(['chat-q8_0.gguf'])
  expect(await svc('chat.gguf', '-m', 'q4_0', '-o', 'exact')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^METHOD +SIZE\noriginal [\s\S]*exact\/chat-q4_0\.gguf/),
  })
  expect(await svc('net.onnx', '-m', 'q4_0')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('net.onnx cannot be quantized to q4_0, which is a type of GGUF file.'),
  })
  const below = await svc('chat.gguf', '-m', 'int4', '--quality-threshold', '0.9999')
  expect(below).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no result reaches the quality 0.9999') })
  expect(below.stdout + below.stderr).toMatch(/PERPLEXITY[\s\S]*original +2.8 MB +1.0000 +\d+\.\d+ +0.00000 +100.0%/)
  await writeFile(join(cwd, 'short.txt'), 'Too short.')
  expect(await svc('chat.gguf', '-m', 'int4', '--data', 'short.txt')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('at least 32 are needed'),
  })
})

it('quantizes a folder, keeps its subfolders, and exits with 1 if a file could not be quantized', async () => {
  const { cwd, svc } = await start()
  await mkdir(join(cwd, 'models/onnx'), { recursive: true })
  await writeFile(join(cwd, 'models/onnx/a.onnx'), network())
  await writeFile(join(cwd, 'models/broken.onnx'), 'no model')
  await writeFile(join(cwd, 'models/readme.txt'), 'text')
  const { exitCode, stderr } = await svc('models', '-m', 'dynamic')
  expect({ exitCode, says: stderr.includes('svc: Not quantized: broken.onnx') }).toEqual({ exitCode: 1, says: true })
  expect(await readdir(join(cwd, 'models/quantized'), { recursive: true })).toEqual(['onnx', 'onnx/a-dynamic.onnx'])
})

describe.skipIf(testEngines === null)(`with onnxruntime (${testEngines === null ? WITHOUT : 'installed'})`, () => {
  const home = join(testEngines ?? '', '..')
  it('auto writes the smallest result that meets the threshold, and prints the table of candidates', async () => {
    const { cwd, svc } = await start(home)
    const { exitCode, stdout, stderr } = await svc('net.onnx', '--quality-threshold', '0.9', '--json')
    const { method, candidates, samples } = JSON.parse(stdout)
    expect({ exitCode, method, samples, says: stderr }).toMatchObject({
      exitCode: 0,
      method: 'int4',
      samples: { count: 32, of: 'samples', from: 'generated' },
    })
    expect(candidates.map((row: { method: string }) => row.method)).toEqual([
      'original',
      'int8',
      'int4',
      'dynamic',
      'float16',
    ])
    expect(
      candidates.every((row: { quality: number; milliseconds: number }) => row.quality > 0.9 && row.milliseconds > 0),
    ).toBe(true)
    expect(await readdir(join(cwd, 'quantized'))).toEqual(['net-int4.onnx'])
  })
  it('writes nothing below the threshold', async () => {
    const { cwd, svc } = await start(home)
    const values = Float32Array.from({ length: 192 }, (_, at) => Math.sin(at))
    await writeFile(
      join(cwd, 'samples.npz'),
      writeNpz([{ name: 'x', dtype: 'f32', shape: [3, 64], data: new Uint8Array(values.buffer) }]),
    )
    const { exitCode, stderr } = await svc(
      'net.onnx',
      '-m',
      'int4',
      '--quality-threshold',
      '1',
      '--data',
      'samples.npz',
    )
    expect(exitCode).toBe(1)
    expect(stderr).toContain('Measured on 3 samples from samples.npz.')
    expect(stderr).toContain(
      'svc: net.onnx was not quantized, and nothing was written: no result reaches the quality 1',
    )
    expect(await readdir(cwd)).toEqual(['net.onnx', 'samples.npz'])
  })
})

it.skipIf(testEngines === null)(`measures Core ML networks by running their layers as ONNX (${WITHOUT})`, async () => {
  const { cwd, svc } = await start(join(testEngines!, '..'))
  await writeFile(join(cwd, 'net.mlmodel'), onnxToCoreml(readOnnx(network())).bytes)
  const { exitCode, stdout, stderr } = await svc('net.mlmodel', '--quality-threshold', '0.98', '--json')
  const { method, candidates } = JSON.parse(stdout)
  const rows: { method: string; quality: number }[] = candidates
  expect({ exitCode, method, rows: rows.map((row) => row.method) }).toEqual({
    exitCode: 0,
    method: 'int8',
    rows: ['original', 'int8', 'int4', 'float16'],
  })
  expect(rows[2]!.quality).toBeLessThan(0.98)
  expect(stderr).toContain("computed by onnxruntime from Apple's documentation of the layers, not by Apple's runtime")
})

it.skipIf(tfliteEngines === null)(`measures .tflite files with LiteRT (${WITHOUT_LITERT})`, async () => {
  const { cwd, svc } = await start(join(tfliteEngines!, '..'))
  await writeFile(join(cwd, 'net.tflite'), onnxToTflite(readOnnx(network()), { inputShape: [1, 64] }).bytes)
  const { exitCode, stdout } = await svc('net.tflite', '--quality-threshold', '0.99', '--json')
  const { method, samples, candidates } = JSON.parse(stdout)
  expect({ exitCode, method, samples }).toEqual({
    exitCode: 0,
    method: 'dynamic',
    samples: { count: 32, of: 'samples', from: 'generated' },
  })
  const rows: { method: string; quality: number; milliseconds: number }[] = candidates
  expect(rows.map((row) => row.method)).toEqual(['original', 'int8', 'dynamic', 'float16'])
  expect(rows.every(({ quality, milliseconds }) => quality > 0.99 && milliseconds > 0)).toBe(true)
  expect(await readdir(join(cwd, 'quantized'))).toEqual(['net-dynamic.tflite'])
  await writeFile(
    join(cwd, 'samples.jsonl'),
    `${JSON.stringify({ x: Array.from({ length: 64 }, (_, at) => Math.sin(at)) })}\n`,
  )
  const below = await svc('net.tflite', '-m', 'int8', '--quality-threshold', '1', '--data', 'samples.jsonl')
  expect(below).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no result reaches the quality 1') })
  expect(below.stderr).toContain('Measured on 1 sample from samples.jsonl.')
  expect(await readdir(join(cwd, 'quantized'))).toEqual(['net-dynamic.tflite'])
})
