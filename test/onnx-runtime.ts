// Runs ONNX models with the optional onnxruntime, if it is installed.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { OnnxModel } from '../src/convert/onnx/model.ts'
import { writeOnnx } from '../src/convert/onnx/write-onnx.ts'
import { testEngines } from '../src/inference/engines/optional/test-engines.fixture.ts'

/** In the format of the scripts next to the fixtures. */
export interface RecordedTensor {
  readonly type: 'f32' | 'i64' | 'i32' | 'bool'
  readonly shape: readonly number[]
  readonly values: readonly number[]
}

export interface RecordedRun {
  readonly inputs: readonly RecordedTensor[]
  readonly outputs: readonly RecordedTensor[]
}

interface Tensor {
  readonly dims: readonly number[]
  readonly data: ArrayLike<number | bigint>
}

interface Runtime {
  readonly InferenceSession: {
    create(
      bytes: Uint8Array,
      options: object,
    ): Promise<{
      readonly inputNames: readonly string[]
      readonly outputNames: readonly string[]
      run(inputs: Record<string, Tensor>): Promise<Record<string, Tensor>>
    }>
  }
  readonly Tensor: new (type: string, data: unknown, shape: readonly number[]) => Tensor
}

const load = (engines: string): Runtime =>
  createRequire(join(engines, 'onnxruntime', 'package.json'))('onnxruntime-node') as Runtime

const tensorOf = (runtime: Runtime, { type, shape, values }: RecordedTensor): Tensor => {
  if (type === 'f32') return new runtime.Tensor('float32', Float32Array.from(values), shape)
  if (type === 'i32') return new runtime.Tensor('int32', Int32Array.from(values), shape)
  if (type === 'bool') return new runtime.Tensor('bool', Uint8Array.from(values), shape)
  return new runtime.Tensor('int64', BigInt64Array.from(values.map(BigInt)), shape)
}

/**
 * Runs the model on recorded inputs. Returns each output's shape and its largest difference from the recorded one, relative to
 * values above 1.
 */
export const compareWithRecorded = async (
  model: OnnxModel,
  run: RecordedRun,
): Promise<{ readonly shape: readonly number[]; readonly difference: number }[]> => {
  const runtime = load(testEngines!)
  const session = await runtime.InferenceSession.create(writeOnnx(model), { logSeverityLevel: 3, intraOpNumThreads: 1 })
  const inputs = session.inputNames.map((name, at) => [name, tensorOf(runtime, run.inputs[at]!)] as const)
  const results = await session.run(Object.fromEntries(inputs))
  return session.outputNames.map((name, at) => {
    const { data, dims } = results[name]!
    const recorded = run.outputs[at]?.values ?? []
    const differences = recorded.map((value, i) => Math.abs(Number(data[i]) - value) / Math.max(1, Math.abs(value)))
    return { shape: [...dims], difference: differences.reduce((a, b) => (b > a || Number.isNaN(b) ? b : a), 0) }
  })
}
