import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareWithRecorded, type RecordedRun } from '../../../test/onnx-runtime.ts'
import { testEngines, WITHOUT } from '../../inference/engines/optional/test-engines.fixture.ts'
import { bytesSource } from '../../tensors/sources.ts'
import { convertModel } from '../convert.ts'
import { jsonMutationsOf } from '../mutations.fixture.ts'
import { readOnnx } from '../onnx/read-onnx.ts'
import { writeOnnx } from '../onnx/write-onnx.ts'
import { torchToOnnx } from './torch-to-onnx.ts'

const folder = join(import.meta.dirname, '../../../test/fixtures/from-torch')
const sourceOf = (file: string) => bytesSource(new Uint8Array(readFileSync(join(folder, file))))
const runsOf = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as RecordedRun[]

const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.pt2') && !/^(branch|bfloat16|unsupported)/.test(file))
  .map((file) => file.slice(0, -'.pt2'.length))

describe('programs of torch.export.save', () => {
  it.each(cases)('%s becomes a model that is written and read back, with its inputs and outputs', (name) => {
    const { model } = torchToOnnx(sourceOf(`${name}.pt2`))
    const [run] = runsOf(name)
    expect(readOnnx(writeOnnx(model)).graph.outputs).toEqual(model.graph.outputs)
    expect(model.graph.inputs.map(({ type, shape }) => ({ type, rank: shape?.length }))).toEqual(
      run!.inputs.map(({ type, shape }) => ({ type, rank: shape.length })),
    )
    expect(model.graph.outputs.map(({ type, shape }) => ({ type, rank: shape?.length }))).toEqual(
      run!.outputs.map(({ type, shape }) => ({ type, rank: shape.length })),
    )
  })

  it.skipIf(testEngines === null).each(cases)(
    `%s produces the outputs of PyTorch for any batch size${testEngines === null ? ` (${WITHOUT})` : ''}`,
    async (name) => {
      const { model } = torchToOnnx(sourceOf(`${name}.pt2`))
      for (const run of runsOf(name)) {
        const results = await compareWithRecorded(model, run)
        expect(results.map(({ shape }) => shape)).toEqual(run.outputs.map(({ shape }) => shape))
        for (const { difference } of results) expect(difference).toBeLessThan(1e-5)
      }
    },
  )

  it('uses a dynamic batch size unless the input shape fixes it', () => {
    const shapes = (inputShape?: number[]) =>
      torchToOnnx(sourceOf('cnn.pt2'), inputShape && { inputShape }).model.graph.inputs.map(({ shape }) => shape)
    expect(shapes()).toEqual([['batch', 1, 8, 8]])
    expect(shapes([5, 1, 8, 8])).toEqual([[5, 1, 8, 8]])
    expect(() => shapes([5, 1, 9, 8])).toThrow(
      "The input shape [5, 1, 9, 8] does not fit the input 'input', which was exported as [batch, 1, 8, 8].",
    )
  })

  it.skipIf(testEngines === null)('uses the weights of another state dict', async () => {
    const weights = sourceOf('cnn-weights.pt')
    const { model } = torchToOnnx(sourceOf('cnn.pt2'), { weights })
    const [result] = await compareWithRecorded(model, runsOf('cnn-weights')[0]!)
    expect(result!.difference).toBeLessThan(1e-5)
  })

  it.skipIf(testEngines === null).each(['tied', 'tied-old'])(
    '%s finds a tied weight by the only name that safetensors keeps',
    async (name) => {
      const { model } = torchToOnnx(sourceOf(`${name}.pt2`), { weights: sourceOf('tied-weights.safetensors') })
      const [result] = await compareWithRecorded(model, runsOf('tied-weights')[0]!)
      expect(result!.difference).toBeLessThan(1e-5)
    },
  )

  it.each(['tied', 'tied-old'])(
    '%s refuses a state dict that lacks weights or has different values for tied ones',
    (name) => {
      const converted = (weights: string) => torchToOnnx(sourceOf(`${name}.pt2`), { weights: sourceOf(weights) })
      expect(() => converted('tied-without-statistics.pt')).toThrow(
        "The program needs weights that the file does not have: 'n.running_mean', 'n.running_var'. Save the whole state dict",
      )
      expect(() => converted('tied-different.pt')).toThrow(
        "'e.weight' and 'o.weight' are one weight in the program (tied), but have different values.",
      )
      const { initializers } = converted('tied-weights.safetensors').model.graph
      expect([...initializers.values()].filter(({ shape }) => shape.join() === '5,3')).toHaveLength(1)
    },
  )

  it('bfloat16 is written as float32, which a note says', async () => {
    const { files, notes } = convertModel(sourceOf('bfloat16.pt2'), { fileName: 'bfloat16.pt2', formats: ['onnx'] })
    const model = readOnnx(files[0]!.bytes)
    expect(notes).toEqual([])
    expect(files[0]!.notes).toEqual([
      'bfloat16 is float32 in ONNX, because onnxruntime does not compute with bfloat16.',
    ])
    const { inputs, outputs, initializers } = model.graph
    expect(new Set([...inputs, ...outputs, ...initializers.values()].map(({ type }) => type))).toEqual(new Set(['f32']))
    if (testEngines === null) return
    const [result] = await compareWithRecorded(model, runsOf('bfloat16')[0]!)
    expect(result!.difference).toBeLessThan(1e-4)
  })

  it('names what it cannot convert and what works instead', () => {
    expect(() => torchToOnnx(sourceOf('branch.pt2'))).toThrow(
      'The program has an operator without a conversion: higher_order.cond. Control flow is not converted',
    )
    const unsupported = 'an operator without a conversion: aten.cumprod.default. Write the layer with other operators'
    expect(() => torchToOnnx(sourceOf('unsupported.pt2'))).toThrow(`${unsupported}, or try ep.run_decompositions()`)
    expect(() => torchToOnnx(sourceOf('unsupported-decomposed.pt2'))).toThrow(new RegExp(`${unsupported}\\.$`))
    expect(() => torchToOnnx(sourceOf('script.pt'))).toThrow('The file is TorchScript, whose code is not run here.')
    expect(() => torchToOnnx(sourceOf('cnn-weights.pt'))).toThrow('torch.export.save(torch.export.export(model.eval()')
    expect(() => torchToOnnx(bytesSource(new Uint8Array(100)))).toThrow('not an exported PyTorch program')
  })

  it.each(['cnn', 'cnn-old', 'recurrent', 'transformer'])(
    '%s with a changed program is converted or refused',
    (name) => {
      const whole = new Uint8Array(readFileSync(join(folder, `${name}.pt2`)))
      for (const bytes of jsonMutationsOf(whole, 30)) {
        try {
          readOnnx(writeOnnx(torchToOnnx(bytesSource(bytes)).model))
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_request' })
        }
      }
    },
  )
})
