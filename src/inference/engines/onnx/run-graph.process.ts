import { createRequire } from 'node:module'
import { errorMessage } from '../../../domain/error-message.ts'
import { InferenceError } from '../../errors.ts'
import { serveOnce } from '../child/run-once.ts'
import type { GraphCommand, GraphRun, GraphTensor, GraphTensors } from './run-graph.ts'

/** The parts of onnxruntime-node 1.30 that are used here. It is imported from where the user installed it. */
interface Runtime {
  readonly InferenceSession: {
    create(model: string | Uint8Array, options: object): Promise<Session>
  }
  readonly Tensor: new (type: string, data: GraphTensor['data'], dims: readonly number[]) => GraphTensor
}

interface Session {
  run(inputs: Readonly<Record<string, GraphTensor>>): Promise<GraphTensors>
}

const SILENT = 4

const plain = ({ type, dims, data }: GraphTensor): GraphTensor => ({ type, dims: [...dims], data })

const run = async ({ runtime, model, samples, threads }: GraphCommand): Promise<GraphRun> => {
  const { InferenceSession, Tensor } = createRequire(import.meta.url)(runtime) as Runtime
  const session = await InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: SILENT,
  })
  const outputs: GraphTensors[] = []
  const milliseconds: number[] = []
  for (const sample of samples) {
    const inputs = Object.entries(sample).map(([name, { type, data, dims }]) => [name, new Tensor(type, data, dims)])
    const started = performance.now()
    const results = await session.run(Object.fromEntries(inputs))
    milliseconds.push(performance.now() - started)
    outputs.push(Object.fromEntries(Object.entries(results).map(([name, tensor]) => [name, plain(tensor)])))
  }
  return { outputs, milliseconds }
}

serveOnce((command: GraphCommand) =>
  run(command).catch((error: unknown) => {
    const message = `onnxruntime cannot run the model: ${errorMessage(error)}`
    throw new InferenceError('invalid_model', message)
  }),
)
