import { existsSync } from 'node:fs'
import { copyFile, link, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { graphBuilder } from '../../convert/onnx/graph-builder.ts'
import { tensorOf } from '../../convert/onnx/tensors.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import {
  testEngines,
  tfliteEngines,
  WITHOUT,
  WITHOUT_LITERT,
} from '../../inference/engines/optional/test-engines.fixture.ts'
import { explain } from '../file-errors.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { writeResult, writeResults } from '../result-files.ts'
import { compare } from './validate.ts'

const linear = (operator = 'MatMul'): Uint8Array => {
  const graph = graphBuilder('linear')
  const x = graph.input('x', 'f32', ['batch', 2])
  const weight = graph.constant('weight', tensorOf('f32', [2, 3], [1, 2, 3, 4, 5, 6]))
  graph.output('y', graph.node(operator, [x, weight]), 'f32', ['batch', 3])
  return writeOnnx(graph.build())
}

const withModel = async (bytes = linear()) => {
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'linear.onnx'), bytes)
  return {
    cwd,
    run: (argv: readonly string[], home = cwd) =>
      runInProcess(['convert', ...argv], { cwd, env: { SERVICE_HOME: home } }),
  }
}

it('writes the result and two reports, and names the command that installs the engine', async () => {
  const { cwd, run } = await withModel()
  const ran = await run(['linear.onnx'])
  expect(ran).toMatchObject({ exitCode: 0 })
  expect(ran.stdout).toContain('not validated: no engine for ONNX is installed (svc engines install onnxruntime)')
  const report = JSON.parse(await readFile(join(cwd, 'converted', 'report.json'), 'utf8'))
  const bytes = await readFile(join(cwd, 'converted', 'linear.onnx'))
  expect(report).toMatchObject({
    model: 'linear.onnx',
    source_format: 'onnx',
    parameters: 6,
    files: [{ format: 'onnx', file: 'linear.onnx', size_bytes: bytes.length, validation: { state: 'not validated' } }],
    failed: [],
  })
  expect(await readFile(join(cwd, 'converted', 'report.txt'), 'utf8')).toContain('inputs    x: f32 [batch, 2]')
  const json = await run(['linear.onnx', '--json', '--no-validate', '-o', 'there'])
  expect(JSON.parse(json.stdout)).toEqual({ ...report, files: [{ ...report.files[0], validation: null }] })
})

it.each([
  [['missing.onnx'], 1, 'There is no file missing.onnx.'],
  [['.'], 1, '. is a folder.'],
  [['linear.onnx', '--no-validate', '-o', 'linear.onnx'], 1, 'linear.onnx: it is a file, not a folder.'],
  [['linear.onnx', '--formats', 'jax'], 2, "'jax' is not one of onnx, coreml, tflite, gguf"],
  [['linear.onnx', '--input-shape', '1,0'], 2, 'whole numbers from 1'],
  [['linear.onnx', '--input-shape', '1,,2'], 2, 'whole numbers from 1'],
  [['linear.onnx', '-o', '.'], 2, 'would replace linear.onnx'],
  [['/dev/null'], 1, '/dev/null is not a regular file.'],
  [['linear.onnx', '--formats', 'gguf,onnx'], 2, 'Hugging Face folders'],
  [['missing', '--formats', 'gguf', '--architecture', 'a.onnx'], 2, 'gguf cannot be combined with --architecture.'],
  [['missing', '--formats', 'gguf'], 1, 'There is no file or folder missing.'],
  [['linear.onnx', '--push', '--architecture', 'a.onnx'], 2, '--push and --architecture cannot be combined.'],
])('exits with the right code for %j: %i', async (argv, exitCode, message) => {
  const { run } = await withModel()
  expect(await run(argv)).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
})

it('never overwrites a file that a result is made from, under any name or through links', async () => {
  const { cwd, run } = await withModel()
  const xgboost = join(process.cwd(), 'test/fixtures/xgboost/gamma.json')
  await copyFile(xgboost, join(cwd, 'report.json'))
  await copyFile(join(process.cwd(), 'test/fixtures/weights/net_a.safetensors'), join(cwd, 'linear.safetensors'))
  await symlink(cwd, join(cwd, 'same'))
  await mkdir(join(cwd, 'linked'))
  await link(join(cwd, 'linear.onnx'), join(cwd, 'linked', 'linear.onnx'))
  const refusals = [
    [['report.json', '-o', '.'], 'The result report.json would replace report.json.'],
    [
      ['linear.safetensors', '--architecture', 'linear.onnx', '-o', '.'],
      'The result linear.onnx would replace linear.onnx.',
    ],
    [['linear.onnx', '-o', 'same'], 'The result linear.onnx would replace linear.onnx.'],
    [['linear.onnx', '-o', 'linked'], 'The result linear.onnx would replace linear.onnx.'],
  ] as const
  for (const [argv, message] of refusals) {
    const ran = await run([...argv, '--no-validate'])
    expect(ran).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(message) })
    // Refuses before doing any work.
    expect(ran.stderr).not.toContain('reading')
  }
  expect(await readFile(join(cwd, 'report.json'))).toEqual(await readFile(xgboost))
  expect(new Uint8Array(await readFile(join(cwd, 'linear.onnx')))).toEqual(linear())
})

it('says what gguf is converted from, and that --base is only for it', async () => {
  const { run } = await withModel()
  const cnn = join(process.cwd(), 'test/fixtures/from-torch/cnn.pt2')
  for (const [file, kind] of [
    [cnn, 'an exported PyTorch program'],
    ['linear.onnx', 'an ONNX model'],
  ] as const) {
    const { exitCode, stderr } = await run([file, '-f', 'gguf'])
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `not a safetensors file but ${kind}.*Only Hugging Face folders and LoRA adapters are converted to gguf\\.\n$`,
        ),
      ),
    ])
    expect(stderr).not.toContain('aggregated')
  }
  expect(await run(['linear.onnx', '--base', 'nope'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: --base is only for LoRA adapters, which are converted to gguf.\n',
  })
})

it('detects an output path that is a file before doing any work', async () => {
  const { run } = await withModel()
  const ran = await run(['linear.onnx', '-o', 'linear.onnx/below'])
  expect(ran).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('linear.onnx: it is a file, not a folder.'),
  })
  expect(ran.stderr).not.toContain('reading')
})

it('if one result cannot be written, keeps the previous files and leaves no partial ones', async () => {
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'first'), 'before')
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })
  const growing = async function* () {
    yield 'half of it'
    throw full
  }
  const files = [
    { path: join(cwd, 'first'), content: 'after' },
    { path: join(cwd, 'second'), content: growing() },
  ]
  const error: unknown = await writeResults(files).catch((caught: unknown) => caught)
  expect(explain(error)).toBe(`Cannot use ${join(cwd, 'second')}: the disk is full.`)
  expect(await readdir(cwd)).toEqual(['first'])
  expect(await readFile(join(cwd, 'first'), 'utf8')).toBe('before')
  const vanished = join(cwd, 'vanished')
  const refused: unknown = await writeResults([{ path: join(vanished, 'third'), content: '' }]).catch((one) => one)
  expect(explain(refused)).toBe(`Cannot use ${vanished}: it does not exist.`)
})

it('writes to the target of a link, and directly to a device', async () => {
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'real'), 'before')
  await symlink('real', join(cwd, 'link'))
  const failing = async function* () {
    yield 'half'
    throw new Error('no more')
  }
  await expect(writeResult(join(cwd, 'link'), failing())).rejects.toThrow('no more')
  expect(await readFile(join(cwd, 'real'), 'utf8')).toBe('before')
  await writeResult(join(cwd, 'link'), 'after')
  expect(await readFile(join(cwd, 'real'), 'utf8')).toBe('after')
  expect((await lstat(join(cwd, 'link'))).isSymbolicLink()).toBe(true)
  await writeResult('/dev/null', 'nothing')
  if (!existsSync('/dev/full')) return
  const full: unknown = await writeResult('/dev/full', 'text').catch((error: unknown) => error)
  expect(explain(full)).toBe('Cannot use /dev/full: the disk is full.')
})

it('explains errors of open files, which do not name the file', () => {
  const error = (code: string, syscall: string) => Object.assign(new Error(`${code}: ${syscall}`), { code, syscall })
  expect(explain(error('ENOSPC', 'write'))).toBe('A file cannot be written: the disk is full.')
  expect(explain(error('EISDIR', 'read'))).toBe('A file cannot be read: it is a folder.')
  for (const temporary of ['/a/net.onnx.0123456789ab.tmp', '/a/.net.onnx.0123456789abcdef.part.lock']) {
    const denied = Object.assign(error('EACCES', 'open'), { path: temporary })
    expect(explain(denied)).toBe('Cannot use /a/net.onnx: permission denied.')
  }
  expect(explain(error('EACCES', 'listen'))).toContain('Unexpected error in svc.')
})

it.skipIf(testEngines === null)(`does not compare text labels that Core ML leaves out (${WITHOUT})`, async () => {
  const { run } = await withModel()
  const forest = join(process.cwd(), 'test/fixtures/sklearn/1.9/forest.joblib')
  const ran = await run([forest, '-f', 'coreml', '--json'], dirname(testEngines!))
  expect(ran).toMatchObject({ exitCode: 0 })
  expect(JSON.parse(ran.stdout).files).toMatchObject([{ format: 'coreml', validation: { state: 'equal' } }])
})

it.skipIf(testEngines === null)(`compares the outputs of source and result (${WITHOUT})`, async () => {
  const { run } = await withModel()
  const ran = await run(['linear.onnx', '--json'], dirname(testEngines!))
  expect(ran).toMatchObject({ exitCode: 0 })
  expect(JSON.parse(ran.stdout).files[0].validation).toEqual({
    state: 'equal',
    largest: 0,
    mean: 0,
    tolerance: 1e-4,
    samples: 3,
  })
})

it.skipIf(testEngines === null)(`reports a model that the engine rejects (${WITHOUT})`, async () => {
  const { run } = await withModel(linear('NoSuchOperator'))
  const ran = await run(['linear.onnx', '--json'], dirname(testEngines!))
  expect(ran).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/onnx cannot be run: onnxruntime cannot[\s\S]*--no-validate/),
  })
  expect(JSON.parse(ran.stdout).files[0].validation).toEqual({
    state: 'fails',
    reason: expect.stringContaining('NoSuchOperator'),
  })
})

it.skipIf(testEngines === null)(
  `does not refuse a model that loads but does not take the generated inputs (${WITHOUT})`,
  async () => {
    const graph = graphBuilder('narrow')
    const shape = graph.constant('shape', tensorOf('i64', [1], [7]))
    graph.output('y', graph.node('Reshape', [graph.input('x', 'f32', ['size']), shape]), 'f32', [7])
    const { run } = await withModel(writeOnnx(graph.build()))
    const ran = await run(['linear.onnx', '--json'], dirname(testEngines!))
    expect(ran).toMatchObject({ exitCode: 0 })
    expect(JSON.parse(ran.stdout).files[0].validation).toMatchObject({ state: 'not validated' })
  },
)

it.skipIf(testEngines === null)(`says that other sources than ONNX cannot be run (${WITHOUT})`, async () => {
  const { run } = await withModel()
  const keras = join(process.cwd(), 'test/fixtures/from-keras/cnn.keras')
  const ran = await run([keras, '--json'], dirname(testEngines!))
  expect(JSON.parse(ran.stdout).files[0].validation).toEqual({
    state: 'runs',
    samples: 3,
    reason: 'only ONNX source models can be run',
  })
  const onnx = await run(['linear.onnx', '--architecture', keras, '--json'], dirname(testEngines!))
  expect(onnx.stderr).toBe('reading linear.onnx\nconverting to ONNX\nvalidating onnx\n')
  expect(JSON.parse(onnx.stdout)).toMatchObject({
    notes: [expect.stringContaining('cnn.keras was not used')],
    files: [{ validation: { state: 'equal', largest: 0 } }],
  })
  const coreml = await run([keras, '-f', 'coreml'], dirname(testEngines!))
  expect(coreml.stderr).toContain('reading cnn.keras\nconverting to Core ML\nvalidating coreml\n')
  expect(coreml.stdout).toMatch(/ \(compared with the ONNX model of the source; computed by onnxruntime .*\)\n$/)
})

it.skipIf(tfliteEngines === null)(
  `runs a TFLite model with LiteRT and its source with onnxruntime (${WITHOUT_LITERT})`,
  async () => {
    const { cwd, run } = await withModel()
    const ran = await run(['linear.onnx', '-f', 'tflite', '--json'], dirname(tfliteEngines!))
    expect(ran).toMatchObject({ exitCode: 0 })
    const equal = { state: 'equal', largest: expect.any(Number), mean: expect.any(Number), tolerance: 1e-4, samples: 3 }
    expect(JSON.parse(ran.stdout).files).toMatchObject([{ format: 'tflite', validation: equal }])
    expect(await readdir(join(cwd, 'converted'))).toEqual(['linear.tflite', 'report.json', 'report.txt'])
    const keras = join(process.cwd(), 'test/fixtures/from-keras/cnn.keras')
    const { files } = JSON.parse((await run([keras, '-f', 'tflite', '--json'], dirname(tfliteEngines!))).stdout)
    expect(files).toMatchObject([{ validation: { ...equal, reference: 'onnx' } }])
  },
)

it.skipIf(tfliteEngines === null)(`says why a result cannot be run (${WITHOUT_LITERT})`, async () => {
  const graph = graphBuilder('power')
  const exponent = graph.constant('exponent', tensorOf('i32', [], [-2]))
  graph.output('y', graph.node('Pow', [graph.input('x', 'i32', [3]), exponent]), 'i32', [3])
  const { run } = await withModel(writeOnnx(graph.build()))
  const ran = await run(['linear.onnx', '-f', 'tflite'], dirname(tfliteEngines!))
  expect(ran).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('tflite cannot be run: LiteRT cannot run the model:'),
  })
  expect(ran.stderr).not.toContain('differ from the source')
})

it.skipIf(tfliteEngines === null)(
  `compares scikit-learn models on rows like their training data, and half precision with its tolerance (${WITHOUT_LITERT})`,
  async () => {
    const folder = join(process.cwd(), 'test/fixtures/sklearn/1.9')
    const graph = graphBuilder('half')
    const weight = graph.constant('weight', tensorOf('f16', [2, 3], [1, 2.3, 3, 4, 5.1, 6]))
    graph.output('y', graph.node('MatMul', [graph.input('x', 'f16', ['batch', 2]), weight]), 'f16', ['batch', 3])
    const { run } = await withModel(writeOnnx(graph.build()))
    for (const [source, samples, tolerance] of [
      [join(folder, 'svr-far.pkl'), 32, 1e-4],
      [join(folder, 'forest-regressor.pkl'), 32, 1e-4],
      [join(folder, 'kmeans-unscaled.joblib'), 32, 1e-4],
      [join(folder, 'pca-unscaled.joblib'), 32, 1e-4],
      ['linear.onnx', 3, 1e-2],
    ] as const) {
      const ran = await run([source, '-f', 'tflite', '--json'], dirname(tfliteEngines!))
      expect(ran).toMatchObject({ exitCode: 0 })
      const equal = { state: 'equal', samples, tolerance }
      expect(JSON.parse(ran.stdout).files).toMatchObject([{ validation: equal }])
    }
  },
)

/** Samples of one output with a row each. */
const samplesOf = (rows: readonly (readonly number[])[], type = 'float32') =>
  rows.map((row) => ({
    y: {
      type,
      dims: [1, row.length],
      data: type === 'int64' ? BigInt64Array.from(row, BigInt) : Float32Array.from(row),
    },
  }))

it.each<[string, 'equal' | 'different', number[][], number[][], string?]>([
  ['rounding near 0 of large numbers', 'equal', [[150_000], [90_000], [12]], [[150_000], [90_000], [12.5]]],
  [
    'rounding in a small column next to a large one',
    'equal',
    [
      [5e4, 2],
      [-6e4, 1],
    ],
    [
      [5e4, 2.01],
      [-6e4, 1],
    ],
  ],
  [
    'an error of a column next to a much larger one',
    'different',
    [
      [5e4, 2],
      [-6e4, 1],
    ],
    [
      [5e4, 2.5],
      [-6e4, 1],
    ],
  ],
  ['an error of numbers from 0 to 1', 'different', [[0.2], [0.9]], [[0.2], [3.43]]],
  ['a small error of numbers from 0 to 1', 'different', [[0.2], [0.9]], [[0.2], [0.901]]],
  ['an error next to a stand-in for infinity', 'different', [[0.2], [0.9], [-3.4e38]], [[0.2], [0.8], [-3.4e38]]],
  ['an error next to infinity', 'different', [[0.2], [Number.POSITIVE_INFINITY]], [[0.3], [Number.POSITIVE_INFINITY]]],
  ['a number that is not one', 'different', [[1e6], [1e6]], [[1e6], [Number.NaN]]],
  ['a wrong label', 'different', [[9], [8], [9]], [[9], [9], [9]], 'int64'],
])('validation of %s: %s', (_, state, expected, found, type) => {
  expect(compare(samplesOf(expected, type), samplesOf(found, type), 1e-4)).toMatchObject({ state })
})

it('pushes the model as the next version, with the same formats', async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  const { cwd } = await withModel()
  const env = { SERVICE_HOME: cwd, SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const argv = ['convert', 'linear.onnx', '-f', 'onnx,tflite', '--no-validate', '--push']
  for (const version of ['1.0.0', '2.0.0']) {
    expect(await runInProcess(argv, { cwd, env })).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining(`Pushed linear.onnx as version ${version} of linear.`),
    })
  }
  const { body } = await world.request('GET', '/api/v1/models/linear', { key })
  expect(body).toMatchObject({
    versions: [{ formats: [{ format: 'tflite' }] }, { version_label: '2.0.0', formats: [{ format: 'tflite' }] }],
  })
  const unsigned = await runInProcess(argv, { cwd, env: { SERVICE_HOME: cwd } })
  expect(unsigned).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('svc login') })
})
