import { readdir, readFile, writeFile } from 'node:fs/promises'
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
} from '../../inference/engines/parts/test-engines.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

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
  [['linear.onnx', '--formats', 'gguf,onnx'], 2, 'Hugging Face folders'],
  [['missing', '--formats', 'gguf'], 1, 'There is no file or folder missing.'],
  [['linear.onnx', '--push', '--architecture', 'a.onnx'], 2, '--push and --architecture cannot be combined.'],
])('%j ends with %i', async (argv, exitCode, message) => {
  const { run } = await withModel()
  expect(await run(argv)).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
})

it.skipIf(testEngines === null)(`outputs of source and result are compared (${WITHOUT})`, async () => {
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

it.skipIf(testEngines === null)(`a model that the engine refuses is said to be so (${WITHOUT})`, async () => {
  const { run } = await withModel(linear('NoSuchOperator'))
  const ran = await run(['linear.onnx', '--json'], dirname(testEngines!))
  expect(JSON.parse(ran.stdout).files[0].validation).toEqual({
    state: 'not validated',
    reason: expect.stringContaining('NoSuchOperator'),
  })
})

it.skipIf(tfliteEngines === null)(
  `a TFLite model is run by LiteRT, its source by onnxruntime (${WITHOUT_LITERT})`,
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
