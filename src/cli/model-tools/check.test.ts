import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { tinyTflite } from '../../convert/check/tiny-tflite.fixture.ts'
import { graphBuilder } from '../../convert/onnx/graph-builder.ts'
import { floats } from '../../convert/onnx/model.ts'
import { tensorOf } from '../../convert/onnx/tensors.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { onnxToCoreml } from '../../convert/to-coreml/onnx-to-coreml.ts'
import { runInProcess } from '../in-process.fixture.ts'

const root = join(import.meta.dirname, '../../..')
const TINY = join(root, 'models/starter.gguf')

const linear = (custom: boolean): Uint8Array => {
  const graph = graphBuilder('linear')
  const x = graph.input('x', 'f32', ['batch', 4])
  const weight = graph.constant('weight', tensorOf('f32', [4, 3], new Array<number>(12).fill(1)))
  const product = graph.node('MatMul', [x, weight])
  graph.output('y', product, 'f32', ['batch', 3])
  const model = graph.build()
  const nodes = model.graph.nodes.map((node) => (custom ? { ...node, domain: 'com.example', type: 'Twist' } : node))
  return writeOnnx({ ...model, opsets: { ...model.opsets, 'com.example': 1 }, graph: { ...model.graph, nodes } })
}

const check = async (argv: readonly string[], file?: { readonly name: string; readonly bytes: Uint8Array }) => {
  const cwd = await emptyFolder()
  if (file !== undefined) await writeFile(join(cwd, file.name), file.bytes)
  return runInProcess(['check', ...argv], { cwd, env: { SERVICE_HOME: cwd } })
}

it('says what a language model needs and how fast it may be', async () => {
  const { exitCode, stdout } = await check([TINY, '--devices', 'pi-5', '--json'])
  expect({ exitCode, ...JSON.parse(stdout) }).toEqual({
    exitCode: 0,
    model: TINY,
    format: 'GGUF model',
    parameters: 2_623_744,
    operators: null,
    multiplications: expect.any(Number),
    memory: {
      weights_bytes: 1_483_776,
      activations_bytes: expect.any(Number),
      cache_bytes: 2048 * 2048,
      total_bytes: expect.any(Number),
    },
    language_model: { architecture: 'llama', trained_context_tokens: 2048, context_tokens: 2048 },
    runtimes: [{ runtime: 'llama.cpp', supported: true, unsupported_operators: [], note: null }],
    notes: [],
    devices: [
      {
        device: 'pi-5',
        name: 'Raspberry Pi 5, 8 GB',
        verdict: 'runs',
        reason: null,
        runtime: 'llama.cpp',
        memory_bytes: 2 ** 33,
        usable_bytes: 0.75 * 2 ** 33,
        tokens_per_second: expect.any(Number),
        inputs_per_second: null,
        source: expect.stringContaining('LPDDR4X-4267'),
      },
    ],
  })
})

it('exits with 1 if the model does not run on a given device, with the reason', async () => {
  const named = await check([TINY, '-d', 'pi-5,esp32-s3'])
  expect(named.exitCode).toBe(1)
  expect(named.stdout).toMatch(/esp32-s3 .*does not run .*It has no llama\.cpp\./)
  expect(named.stdout).toMatch(/Cache: +4\.2 MB for 2048 tokens of context/)
  const all = await check([TINY, '--context', '512'])
  expect(all).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/esp32-s3 .*does not run/) })
  expect(all.stdout).toMatch(/Cache: +1\.0 MB for 512 tokens/)
  expect(await check([TINY, '--devices', ''])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining("argument '' is invalid. It must be one or more names, separated by commas."),
  })
})

it('measures the machine that it runs on', async () => {
  const { exitCode, stdout } = await check([TINY, '--devices', 'this', '--json'])
  expect({ exitCode, devices: JSON.parse(stdout).devices }).toMatchObject({
    exitCode: 0,
    devices: [{ device: 'this', verdict: 'runs', source: 'measured now' }],
  })
})

describe('ONNX', () => {
  it('counts operators, activations, and multiplications for the given shape', async () => {
    const file = { name: 'linear.onnx', bytes: linear(false) }
    const { exitCode, stdout } = await check(['linear.onnx', '--input-shape', '5,4', '-d', 'pixel-8', '--json'], file)
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 0,
      parameters: 12,
      operators: { Identity: 1, MatMul: 1 },
      multiplications: 60,
      memory: { weights_bytes: 48, activations_bytes: 140, cache_bytes: 0, total_bytes: 188 },
      language_model: null,
      devices: [{ verdict: 'runs', tokens_per_second: null, inputs_per_second: expect.any(Number) }],
    })
  })

  it('names operators that a runtime does not support', async () => {
    const file = { name: 'twist.onnx', bytes: linear(true) }
    const { exitCode, stdout } = await check(['twist.onnx', '-d', 'pi-4'], file)
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/onnxruntime: +no: com\.example::Twist/)
    const unknown = graphBuilder('unknown')
    unknown.output('y', unknown.node('Frobnicate', [unknown.input('x', 'f32', [2])]), 'f32', [2])
    const plain = await check(['unknown.onnx', '-d', 'pi-4'], {
      name: 'unknown.onnx',
      bytes: writeOnnx(unknown.build()),
    })
    expect(plain).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/onnxruntime: +no: Frobnicate/) })
  })

  it.each([
    [6, 'Export it with a newer one.'],
    [27, 'Export it with an older one.'],
  ])('does not run with operator set %i, which onnxruntime does not support', async (opset, advice) => {
    const graph = graphBuilder('sum')
    const inputs = ['a', 'b'].map((name) => graph.input(name, 'f32', [2]))
    graph.output('y', graph.node('Add', inputs), 'f32', [2])
    const bytes = writeOnnx({ ...graph.build(), opsets: { '': opset } })
    const { stdout } = await check(['sum.onnx', '-d', 'pi-4'], { name: 'sum.onnx', bytes })
    expect(stdout).toContain(`no. It uses operator set ${opset}; onnxruntime supports 7 to 26. ${advice}`)
  })

  it('refuses a file that names no operator set', async () => {
    const bytes = writeOnnx({ ...graphBuilder('none').build(), opsets: {} })
    expect(await check(['none.onnx'], { name: 'none.onnx', bytes })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        'svc: The ONNX model does not say which operator sets it uses (opset_import); it must name at least one. Export it again.\n',
    })
  })

  it('reads Upsample of old operator sets, whose scales are an attribute', async () => {
    const graph = graphBuilder('old')
    const scales = { scales: floats([1, 1, 2, 2]) }
    graph.output('y', graph.node('Upsample', [graph.input('x', 'f32', [1, 1, 2, 2])], scales), 'f32', [1, 1, 4, 4])
    const bytes = writeOnnx({ ...graph.build(), opsets: { '': 8 } })
    const { exitCode, stdout } = await check(['old.onnx', '-d', 'pi-4'], { name: 'old.onnx', bytes })
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/onnxruntime: +yes/)])
  })
})

describe('TensorFlow Lite', () => {
  it('is read without its runtime', async () => {
    const file = { name: 'tiny.tflite', bytes: tinyTflite() }
    const { exitCode, stdout } = await check(['tiny.tflite', '-d', 'esp32-s3', '--json'], file)
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 0,
      format: 'TensorFlow Lite model',
      parameters: 15,
      operators: { FULLY_CONNECTED: 1 },
      multiplications: 12,
      memory: { weights_bytes: 60, activations_bytes: 28 },
      devices: [{ verdict: 'runs', runtime: 'tflite' }],
    })
  })

  it('does not run with a custom operator', async () => {
    const file = { name: 'custom.tflite', bytes: tinyTflite('FlexErf') }
    expect(await check(['custom.tflite', '-d', 'pixel-8'], file)).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/tflite: +no: custom FlexErf\. Custom operators need/),
    })
  })

  it('is refused if damaged at any position', async () => {
    const whole = tinyTflite('FlexErf')
    const cwd = await emptyFolder()
    for (let at = 8; at < whole.length; at += 3) {
      const bytes = Uint8Array.from(whole)
      bytes[at] = 255 - bytes[at]!
      await writeFile(join(cwd, 'bad.tflite'), bytes.subarray(0, at % 2 === 0 ? undefined : at))
      const { exitCode, stderr } = await runInProcess(['check', 'bad.tflite'], { cwd, env: { SERVICE_HOME: cwd } })
      expect({ at, stderr: exitCode === 0 ? '' : stderr }).toEqual({
        at,
        stderr:
          exitCode === 0
            ? ''
            : expect.stringMatching(
                /^svc: (The file|The TensorFlow Lite model|'bad\.tflite'|Not a TFLite|A TFLite|TFLite schema|\w+\.\w+ is of kind) ?[^\n]+\n/,
              ),
      })
    }
  })
})

it('says that a GGUF file does not name its architecture', async () => {
  // Magic, version 3, no tensors, no metadata.
  const bytes = new Uint8Array(24)
  bytes.set([...new TextEncoder().encode('GGUF'), 3])
  const { stdout } = await check(['bare.gguf'], { name: 'bare.gguf', bytes })
  expect(stdout).toContain('The file does not name its architecture (general.architecture)')
})

it('counts the parameters of weight files', async () => {
  const path = join(root, 'test/fixtures/weights/net_a.safetensors')
  const { exitCode, stdout, stderr } = await check([path])
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringContaining('The file contains only weights'),
  })
  expect(stdout).toMatch(/Parameters: +\d+/)
})

it.each([
  [['missing.gguf'], 1, 'There is no file missing.gguf.'],
  [['starter'], 1, 'There is no file starter.\nGive a path: svc list models --json has those of your models.'],
  [['.'], 1, '. is a folder.'],
  [['/dev/null'], 1, '/dev/null is not a regular file.'],
  [[TINY, '-d', 'pixel-99'], 2, "There is no device profile 'pixel-99'.\nKnown profiles: this, iphone-se-3"],
  [[TINY, '--context', '99999'], 2, '--context 99999 is more than the 2048 tokens'],
  [[TINY, '--context', '1.5'], 2, 'It must be a whole number'],
  [[TINY, '--input-shape', '1,x'], 2, 'whole numbers from 1'],
  [[join(root, 'package.json')], 1, 'which cannot be checked'],
  [['empty.onnx'], 1, "empty.onnx' is empty."],
  [[join(root, 'test/fixtures/weights/net_a.pt'), '--context', '10'], 2, '--context applies only to language models'],
])('exits with the right code for %j: %i', async (argv, exitCode, message) => {
  const empty = { name: 'empty.onnx', bytes: new Uint8Array() }
  expect(await check(argv, empty)).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
})

it('names a Core ML model, which it does not read', async () => {
  const graph = graphBuilder('sum')
  const x = graph.input('x', 'f32', [1, 2])
  graph.output('y', graph.node('Add', [x, x]), 'f32', [1, 2])
  const { bytes } = onnxToCoreml(graph.build(), {})
  expect(await check(['net.mlmodel'], { name: 'net.mlmodel', bytes })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('is a Core ML model, which cannot be checked.'),
  })
})
