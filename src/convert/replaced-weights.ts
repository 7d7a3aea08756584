// The graph of one file with the tensors of another: how the result of a federated round becomes a model again.
import { badRequest } from '../domain/errors.ts'
import { readTensorBytes } from '../tensors/elements.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { showShape } from '../tensors/shape.ts'
import type { ByteSource } from '../tensors/weight-file.ts'
import type { OnnxModel, OnnxTensor } from './onnx/model.ts'

/** The tensors of a weight file (.pt, .safetensors, .npz, .h5) by name, each read when it is asked for. */
export const weightsNamed = (source: ByteSource): ((name: string) => OnnxTensor | undefined) => {
  const tensors = new Map(readWeights(source).tensors.map((tensor) => [tensor.name, tensor]))
  return (name) => {
    const tensor = tensors.get(name)
    if (tensor === undefined) return undefined
    return { type: tensor.dtype, shape: tensor.shape, data: readTensorBytes(source, tensor) }
  }
}

/**
 * The model with the weight file's tensors in place of the initializers of their names. Throws bad_request where none of
 * them is there, or one has another shape or type.
 */
export const onnxWithWeights = (model: OnnxModel, weights: ByteSource): OnnxModel => {
  const weightOf = weightsNamed(weights)
  let replaced = 0
  const initializers = new Map(
    [...model.graph.initializers].map(([name, tensor]) => {
      const found = weightOf(name)
      if (found === undefined) return [name, tensor]
      if (found.type !== tensor.type || showShape(found.shape) !== showShape(tensor.shape)) {
        throw badRequest(
          `The weight '${name}' is ${found.type} ${showShape(found.shape)}, but the model has ${tensor.type} ${showShape(tensor.shape)}.`,
        )
      }
      replaced++
      return [name, found]
    }),
  )
  if (replaced === 0) {
    throw badRequest('None of the weights has the name of an initializer of the model. Are they of another model?')
  }
  return { ...model, graph: { ...model.graph, initializers } }
}
