import { TARGETS, type TargetFormat } from '../formats.ts'
import { inferShapes } from '../onnx/infer-shapes.ts'
import { byteCount, countsOf, elementCount, type OnnxModel, type OnnxNode, type OnnxValue } from '../onnx/model.ts'
import type { Runtime } from './device-profiles.ts'
import { type ModelProfile, peakBytes, type RuntimeSupport } from './model-profile.ts'
import { ONNXRUNTIME_OPERATORS } from './onnxruntime-operators.ts'

/** The operator sets that onnxruntime 1.30 guarantees. It runs some operators of older ones, but not Add or Gemm. */
const MIN_OPSET = 7
const MAX_OPSET = 26

const nameOf = ({ name }: OnnxValue): string => name

/** `inputShape` is the shape of the first input; other open sizes are 1. */
export const onnxProfile = (
  title: string,
  model: OnnxModel,
  inputShape: readonly number[] | undefined,
  notes: readonly string[],
): ModelProfile => {
  const { initializers, nodes } = model.graph
  const ends = { inputs: model.graph.inputs.map(nameOf), outputs: model.graph.outputs.map(nameOf) }
  const weights = [...initializers.values()].filter(({ type }) => type !== 'string')
  const shapes = new Map<string, Value>()
  for (const [name, { type, shape }] of inferShapes(model, inputShape))
    shapes.set(name, { shape, bytes: byteCount(type, shape) })
  // Unused outputs, such as the mask of Dropout, are not computed.
  const used = new Set([...ends.outputs, ...nodes.flatMap(({ inputs }) => inputs)])
  const isKnown = nodes.every(({ outputs }) =>
    outputs.every((name) => !used.has(name) || name === '' || shapes.has(name)),
  )
  return {
    title,
    parameters: weights.reduce((sum, { shape }) => sum + elementCount(shape), 0),
    weightBytes: weights.reduce((sum, { type, shape }) => sum + byteCount(type, shape), 0),
    operators: countsOf(nodes.map(({ type }) => type)),
    activationBytes: isKnown ? peakBytes(ends, nodes, (name) => shapes.get(name)?.bytes ?? 0) : null,
    multiplications: isKnown ? multiplicationsOf(model, shapes) : null,
    languageModel: null,
    runtimes: [onnxruntimeSupport(model), ...targetSupport(model, inputShape)],
    notes: isKnown
      ? notes
      : [
          ...notes,
          'The shapes of some values depend on data, or on unknown operators: activations and multiplications are not known.',
        ],
  }
}

interface Value {
  readonly shape: readonly number[]
  readonly bytes: number
}

/** Counts the multiplications of matrix products and convolutions: result elements times weights per element. */
const multiplicationsOf = ({ graph }: OnnxModel, values: ReadonlyMap<string, Value>): number => {
  const shapeOf = (name: string | undefined): readonly number[] | undefined =>
    name === undefined ? undefined : (graph.initializers.get(name)?.shape ?? values.get(name)?.shape)
  return graph.nodes.reduce((sum, { type, inputs, outputs }) => {
    const result = elementCount(shapeOf(outputs[0]) ?? [])
    const weight = shapeOf(inputs[1])
    if (weight === undefined) return sum
    if (type === 'Conv') return sum + result * elementCount(weight.slice(1))
    if (type === 'MatMul' || type === 'Gemm') return sum + result * (shapeOf(inputs[0])?.at(-1) ?? 1)
    return sum
  }, 0)
}

/** The nodes and those of their subgraphs (the branches of If, the body of Loop). */
const withInner = (nodes: readonly OnnxNode[]): OnnxNode[] =>
  nodes.flatMap((node) => [
    node,
    ...Object.values(node.attributes).flatMap((own) => (own.kind === 'graph' ? withInner(own.value.nodes) : [])),
  ])

const onnxruntimeSupport = (model: OnnxModel): RuntimeSupport => {
  const unknown = withInner(model.graph.nodes).filter(
    ({ domain, type }) => ONNXRUNTIME_OPERATORS.get(domain)?.has(type) !== true,
  )
  const opset = model.opsets[''] ?? MIN_OPSET
  const names = unknown.map(({ domain, type }) => (domain === '' ? type : `${domain}::${type}`))
  const unsupportedOperators = Object.keys(countsOf(names))
  const [isOld, isNew] = [opset < MIN_OPSET, opset > MAX_OPSET]
  const supported = `onnxruntime supports ${MIN_OPSET} to ${MAX_OPSET}`
  return {
    runtime: 'onnxruntime',
    isSupported: unsupportedOperators.length === 0 && !isOld && !isNew,
    unsupportedOperators,
    note:
      isOld || isNew
        ? `It uses operator set ${opset}; ${supported}. Export it with ${isOld ? 'a newer' : 'an older'} one.`
        : null,
  }
}

/** Checks the runtimes that need a conversion by converting the model. */
const targetSupport = (model: OnnxModel, inputShape: readonly number[] | undefined): readonly RuntimeSupport[] => {
  const targets: readonly TargetFormat[] = TARGETS.filter(({ name }) => ['tflite', 'coreml'].includes(name))
  return targets.map((target) => {
    const runtime = target.name as Runtime
    try {
      target.fromOnnx(model, inputShape === undefined ? {} : { inputShape })
      return { runtime, isSupported: true, unsupportedOperators: [], note: `after svc convert --formats ${runtime}` }
    } catch (error) {
      const note = (error as Error).message
      const unsupportedOperators = Object.keys(countsOf(model.graph.nodes.map(({ type }) => type))).filter((type) =>
        new RegExp(`\\b${type}\\b`).test(note),
      )
      return { runtime, isSupported: false, unsupportedOperators, note }
    }
  })
}
