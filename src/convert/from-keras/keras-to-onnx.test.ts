import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareWithRecorded, type RecordedRun } from '../../../test/onnx-runtime.ts'
import { testEngines, WITHOUT } from '../../inference/engines/optional/test-engines.fixture.ts'
import { bytesSource } from '../../tensors/sources.ts'
import { jsonMutationsOf, mutationsOf } from '../mutations.fixture.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { kerasToOnnx } from './keras-to-onnx.ts'

const folder = join(import.meta.dirname, '../../../test/fixtures/from-keras')
const bytesOf = (file: string) => new Uint8Array(readFileSync(join(folder, file)))
const sourceOf = (file: string) => bytesSource(bytesOf(file))
const runOf = (file: string) =>
  (JSON.parse(readFileSync(join(folder, file.replace(/\.\w+$/, '.json')), 'utf8')) as RecordedRun[])[0]!

const files = readdirSync(folder).filter((file) => /\.(keras|h5)$/.test(file) && file !== 'cnn.weights.h5')

describe('Keras models', () => {
  it.each(files)('%s becomes a model that is written and read back, with its inputs and outputs', (file) => {
    const { model } = kerasToOnnx(sourceOf(file))
    const run = runOf(file)
    expect(readOnnx(writeOnnx(model)).graph.outputs).toEqual(model.graph.outputs)
    expect(model.graph.inputs.map(({ type, shape }) => ({ type, rank: shape?.length }))).toEqual(
      run.inputs.map(({ type, shape }) => ({ type, rank: shape.length })),
    )
    // Sizes that are fixed in Keras are fixed in the model.
    for (const [at, { shape }] of model.graph.outputs.entries()) {
      const recorded = run.outputs[at]!.shape
      expect(shape?.map((size, axis) => (typeof size === 'number' ? size : recorded[axis]))).toEqual(recorded)
    }
  })

  it.skipIf(testEngines === null).each(files)(
    `%s produces the outputs of Keras${testEngines === null ? ` (${WITHOUT})` : ''}`,
    async (file) => {
      const run = runOf(file)
      const results = await compareWithRecorded(kerasToOnnx(sourceOf(file)).model, run)
      expect(results.map(({ shape }) => shape)).toEqual(run.outputs.map(({ shape }) => shape))
      for (const { difference } of results) expect(difference).toBeLessThan(1e-5)
    },
  )

  it.skipIf(testEngines === null).each(['cnn.weights.h5', 'cnn-weights.npz'])(
    'uses the weights of another file: %s',
    async (file) => {
      const { model } = kerasToOnnx(sourceOf('cnn.keras'), { weights: sourceOf(file) })
      const [result] = await compareWithRecorded(model, runOf('cnn-weights.npz'))
      expect(result!.difference).toBeLessThan(1e-5)
    },
  )

  it('reads chunked weights that are compressed with gzip', () => {
    const [plain, gzip] = ['keras2.h5', 'keras2-gzip.h5'].map((file) => writeOnnx(kerasToOnnx(sourceOf(file)).model))
    expect(gzip).toEqual(plain)
  })

  it('uses a dynamic batch size unless the input shape fixes it', () => {
    const shapes = (inputShape?: number[]) =>
      kerasToOnnx(sourceOf('cnn.keras'), inputShape && { inputShape }).model.graph.inputs.map(({ shape }) => shape)
    expect(shapes()).toEqual([['batch', 8, 8, 1]])
    expect(shapes([5, 8, 8, 1])).toEqual([[5, 8, 8, 1]])
    expect(() => shapes([5, 9, 8, 1])).toThrow('The input shape [5, 9, 8, 1] does not fit the input')
    expect(() => shapes([5, 8, 8])).toThrow('The input shape [5, 8, 8] has 3 sizes')
  })

  it('names what it cannot convert and what works instead', () => {
    expect(() => kerasToOnnx(sourceOf('cnn.weights.h5'))).toThrow('contains weights without an architecture')
    expect(() => kerasToOnnx(bytesSource(new Uint8Array(100)))).toThrow('not a Keras model (.keras, .h5)')
    const bytes = bytesOf('cnn.keras')
    const at = Buffer.from(bytes).indexOf('"SeparableConv2D"')
    bytes.set(new TextEncoder().encode('"SeparableConv9D"'), at)
    expect(() => kerasToOnnx(bytesSource(bytes))).toThrow(
      "layers without a conversion: SeparableConv9D 'separable_conv2d",
    )
  })

  it.each(['cnn', 'recurrent-1', 'merging-2', 'masks'])(
    '%s with a changed architecture is converted or refused',
    (name) => {
      for (const bytes of jsonMutationsOf(bytesOf(`${name}.keras`), 30)) {
        try {
          readOnnx(writeOnnx(kerasToOnnx(bytesSource(bytes)).model))
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_request' })
        }
      }
    },
  )

  it.each(['cnn-h5.h5', 'keras2-gzip.h5'])('%s with changed bytes is converted or refused', (file) => {
    for (const bytes of mutationsOf(bytesOf(file), 60)) {
      try {
        kerasToOnnx(bytesSource(bytes))
      } catch (error) {
        expect(error).toMatchObject({ code: 'bad_request' })
      }
    }
  })
})
