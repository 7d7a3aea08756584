// Puts the tensors of one file into the graph of another: turns the result of a federated round into a model again.
import { badRequest } from '../domain/errors.ts'
import { encodeElements, readTensorFloats } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { showShape } from '../tensors/shape.ts'
import type { ByteSource, DType } from '../tensors/weight-file.ts'
import type { OnnxModel, OnnxTensor } from './onnx/model.ts'

const FLOATS: ReadonlySet<string> = new Set<DType>(['f32', 'f64', 'f16', 'bf16'])

/** The names of weights and statistics in PyTorch modules. */
const MODULE_WEIGHT = /^(.+\.)(weight|bias|running_mean|running_var|in_proj_weight|in_proj_bias)$/

const moduleOf = (name: string): string | undefined => MODULE_WEIGHT.exec(name)?.[1]

/** Requires all weights of a module or none, because statistics of another training would not fit. */
const requireWholeModules = ({ graph }: OnnxModel, replaced: ReadonlySet<string>): void => {
  const modules = new Set([...replaced].map(moduleOf))
  const missing = [...graph.initializers.keys()].find((name) => {
    const module = moduleOf(name)
    return module !== undefined && modules.has(module) && !replaced.has(name)
  })
  if (missing === undefined) return
  throw badRequest(
    `The weights include other tensors of the same module, but not '${missing}'. Save the whole state dict, including buffers: ` +
      'torch.save(model.state_dict(), "weights.pt").',
  )
}

/**
 * Replaces the model's constants with the weights of the same names, converted to the constants' types. Ignores counters that
 * the graph lacks (num_batches_tracked). Throws bad_request if a weight matches no constant or a module lacks weights.
 */
export const onnxWithWeights = (
  model: OnnxModel,
  weights: ByteSource,
): { readonly model: OnnxModel; readonly notes: readonly string[] } => {
  const initializers = new Map(model.graph.initializers)
  const replaced = new Set<string>()
  for (const tensor of readWeights(weights).tensors) {
    if (!FLOATS.has(tensor.dtype)) continue
    const { name, shape } = tensor
    const constant = initializers.get(name)
    if (constant === undefined || !FLOATS.has(constant.type)) {
      throw badRequest(
        `The weights have '${name}', which the graph does not have: its exporter renamed or merged it. Export the ` +
          'architecture without constant folding, or as .pt2: torch.export.save(torch.export.export(model, (x,)), path).',
      )
    }
    if (shape.length !== constant.shape.length || shape.some((size, axis) => size !== constant.shape[axis])) {
      throw badRequest(
        `The weights' '${name}' has the shape ${showShape(shape)}, but ${showShape(constant.shape)} in the graph: they ` +
          'are of another architecture.',
      )
    }
    const data = encodeElements(readTensorFloats(weights, tensor), constant.type as DType)
    initializers.set(name, { ...constant, data } satisfies OnnxTensor)
    replaced.add(name)
  }
  requireWholeModules(model, replaced)
  const kept = [...initializers.values()].filter(({ type }) => FLOATS.has(type)).length - replaced.size
  const notes =
    kept === 0 ? [] : [`${kept} constants keep the values of the architecture's file: they are not in the weights.`]
  return { model: { ...model, graph: { ...model.graph, initializers } }, notes }
}
