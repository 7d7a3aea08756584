// The graph of one file with the tensors of another: how the result of a federated round becomes a model again.
import { badRequest } from '../domain/errors.ts'
import { encodeElements, readTensorFloats } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { showShape } from '../tensors/shape.ts'
import type { ByteSource, DType } from '../tensors/weight-file.ts'
import type { OnnxModel, OnnxTensor } from './onnx/model.ts'

const FLOATS: ReadonlySet<string> = new Set<DType>(['f32', 'f64', 'f16', 'bf16'])

/**
 * The model with the weights of another file in place of its constants of the same names, in the constants' types. Counters
 * that the graph has not (num_batches_tracked) are left out. Throws bad_request where a weight fits no constant.
 */
export const onnxWithWeights = (
  model: OnnxModel,
  weights: ByteSource,
): { readonly model: OnnxModel; readonly notes: readonly string[] } => {
  const initializers = new Map(model.graph.initializers)
  let replaced = 0
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
    replaced++
  }
  const kept = [...initializers.values()].filter(({ type }) => FLOATS.has(type)).length - replaced
  const notes =
    kept === 0 ? [] : [`${kept} constants keep the values of the architecture's file: they are not in the weights.`]
  return { model: { ...model, graph: { ...model.graph, initializers } }, notes }
}
