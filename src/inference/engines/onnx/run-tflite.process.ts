// Runs .tflite files on the CPU with LiteRT, which is made for web pages: this process evaluates its script.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'
import { errorMessage } from '../../../domain/error-message.ts'
import { InferenceError } from '../../errors.ts'
import { serveOnce } from '../child/run-once.ts'
import type { GraphCommand, GraphRun, GraphTensor, GraphTensors } from './run-graph.ts'

interface Vector<Item> {
  size(): number
  get(at: number): Item
}
interface TensorType {
  elementType(): { readonly value: number }
  layout(): { dimensions(): Vector<number> }
}
interface TensorBuffer {
  tensorType(): TensorType
  packedSize(): number
  /** Locks the buffer and returns its address. */
  lock(mode: unknown): number
  unlock(): void
  delete(): void
}

/** The parts of the WebAssembly module of @litertjs/core 2.5 that are used here. */
interface LiteRt {
  readonly HEAPU8: Uint8Array
  _malloc(size: number): number
  readonly VectorInt32: new () => { push_back(item: number): void }
  readonly LiteRtLayout: { create(dimensions: object): object }
  readonly LiteRtRankedTensorType: { create(element: object, layout: object): TensorType }
  readonly LiteRtEnvironment: { create(gpu: null): object }
  readonly LiteRtTensorBuffer: {
    createManaged(environment: object, memory: unknown, type: TensorType, size: number): TensorBuffer
  }
  readonly LiteRtTensorBufferType: { readonly HOST_MEMORY: unknown }
  readonly LiteRtTensorBufferLockMode: { readonly READ: unknown; readonly WRITE: unknown }
  loadModel(environment: object, at: number, size: number): Model
  compileModel(environment: object, model: Model, options: object): Promise<CompiledModel>
}
interface Model {
  getSignature(index: number): { inputNames(): Vector<string>; outputNames(): Vector<string> }
  getInputTensorType(signature: number, input: number): TensorType
}
interface CompiledModel {
  run(signature: number, inputs: readonly TensorBuffer[]): Promise<readonly TensorBuffer[]>
}

/** By LiteRT's number for the element type. */
const ELEMENTS = {
  1: ['float32', Float32Array],
  2: ['int32', Int32Array],
  3: ['uint8', Uint8Array],
  4: ['int64', BigInt64Array],
  6: ['bool', Uint8Array],
  7: ['int16', Int16Array],
  9: ['int8', Int8Array],
  11: ['float64', Float64Array],
  16: ['uint32', Uint32Array],
  17: ['uint16', Uint16Array],
} as const

const elementsOf = (type: TensorType, name: string) => {
  const number = type.elementType().value
  const found = ELEMENTS[number as keyof typeof ELEMENTS]
  if (found === undefined) throw new Error(`'${name}' has elements of type ${number}, which cannot be passed`)
  return found
}

const listOf = <Item>(vector: Vector<Item>): Item[] => Array.from({ length: vector.size() }, (_, at) => vector.get(at))

const sizesOf = (type: TensorType): number[] => listOf(type.layout().dimensions())

const load = (script: string, hear: (line: string) => void): Promise<LiteRt> => {
  const names = ['module', 'exports', 'require', '__filename', '__dirname']
  const module = { exports: {} as (options: object) => Promise<LiteRt> }
  const evaluate = compileFunction(readFileSync(script, 'utf8'), names, { filename: script })
  evaluate(module, module.exports, createRequire(script), script, dirname(script))
  const wasmBinary = readFileSync(script.replace(/\.js$/, '.wasm'))
  return module.exports({ wasmBinary, print: hear, printErr: hear })
}

const run = async ({ runtime, model, samples }: GraphCommand, hear: (line: string) => void): Promise<GraphRun> => {
  const wasm = await load(runtime, hear)
  const { READ, WRITE } = wasm.LiteRtTensorBufferLockMode
  const environment = wasm.LiteRtEnvironment.create(null)
  const bytes = typeof model === 'string' ? readFileSync(model) : model
  const at = wasm._malloc(bytes.length)
  wasm.HEAPU8.set(bytes, at)
  const loaded = wasm.loadModel(environment, at, bytes.length)
  const compiled = await wasm.compileModel(environment, loaded, { accelerator: 'wasm', cpuOptions: { numThreads: 1 } })
  const signature = loaded.getSignature(0)
  const inputNames = listOf(signature.inputNames())
  const outputNames = listOf(signature.outputNames())

  const write = (name: string, index: number, tensor: GraphTensor | undefined): TensorBuffer => {
    const declared = loaded.getInputTensorType(0, index)
    const [, TypedArray] = elementsOf(declared, name)
    // A negative size is dynamic. This build's outputs can be read only for size 1.
    const sizes = sizesOf(declared).map((size) => Math.max(size, 1))
    if (tensor?.dims.join() !== sizes.join()) {
      throw new Error(`the input '${name}' has the shape [${sizes.join(', ')}], not [${tensor?.dims.join(', ') ?? ''}]`)
    }
    const dimensions = new wasm.VectorInt32()
    for (const size of sizes) dimensions.push_back(size)
    const type = wasm.LiteRtRankedTensorType.create(declared.elementType(), wasm.LiteRtLayout.create(dimensions))
    // Converted models take float32 in place of half and double precision.
    const data = new (TypedArray as Float32ArrayConstructor)(tensor.data as ArrayLike<number>)
    const { HOST_MEMORY } = wasm.LiteRtTensorBufferType
    const buffer = wasm.LiteRtTensorBuffer.createManaged(environment, HOST_MEMORY, type, data.byteLength)
    wasm.HEAPU8.set(new Uint8Array(data.buffer), buffer.lock(WRITE))
    buffer.unlock()
    return buffer
  }
  const read = (name: string, buffer: TensorBuffer): GraphTensor => {
    const type = buffer.tensorType()
    const [typeName, TypedArray] = elementsOf(type, name)
    const from = buffer.lock(READ)
    const copy = wasm.HEAPU8.slice(from, from + buffer.packedSize())
    buffer.unlock()
    return { type: typeName, dims: sizesOf(type), data: new TypedArray(copy.buffer) }
  }
  const outputs: GraphTensors[] = []
  const milliseconds: number[] = []
  for (const sample of samples) {
    const inputs = inputNames.map((name, index) => write(name, index, sample[name]))
    const started = performance.now()
    const results = await compiled.run(0, inputs)
    milliseconds.push(performance.now() - started)
    outputs.push(Object.fromEntries(outputNames.map((name, index) => [name, read(name, results[index]!)])))
    for (const buffer of [...inputs, ...results]) buffer.delete()
  }
  return { outputs, milliseconds }
}

/** LiteRT runs a model without an operator that failed to prepare or to run, and returns memory that nothing wrote. */
const FAILED = /^ERROR.*failed to (prepare|allocate|invoke)/i

const requireRun = (lines: readonly string[]): void => {
  if (lines.some((line) => FAILED.test(line))) throw new Error('an operator does not support its inputs')
}

serveOnce((command: GraphCommand) => {
  const lines: string[] = []
  const running = run(command, (line) => void lines.push(line)).then((result) => {
    requireRun(lines)
    return result
  })
  return running.catch((error: unknown) => {
    const reason = errorMessage(error)
    const errors = lines.filter((line) => line.startsWith('ERROR')).slice(-2)
    throw new InferenceError('invalid_model', `LiteRT cannot run the model: ${[reason, ...errors].join('. ')}`)
  })
})
