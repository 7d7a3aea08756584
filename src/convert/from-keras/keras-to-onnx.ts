import { badRequest, ServiceError } from '../../domain/errors.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { graphBuilder } from '../onnx/graph-builder.ts'
import type { OnnxModel } from '../onnx/model.ts'
import { isModel, type KerasModel, modelOf, parseModel } from './keras-config.ts'
import { readKerasTexts } from './keras-file.ts'
import { kerasWeights, ROOT } from './keras-weights.ts'
import { LayerCall, type Scope } from './layer-call.ts'
import { declaredInput, inputsOf } from './model-inputs.ts'
import { layerFor, runModel } from './run-model.ts'

const unknownLayers = ({ layers }: KerasModel): string[] =>
  layers.flatMap((layer) => {
    if (isModel(layer)) return unknownLayers(modelOf(layer.className, layer.config))
    const isKnown = layer.className === 'InputLayer' || layerFor(layer) !== undefined
    return isKnown ? [] : [`${layer.className} '${layer.name}'`]
  })

/** What to use instead of layers that cannot be converted. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [
    /^(TextVectorization|StringLookup|IntegerLookup|Hash)/,
    'encode texts and ids before the model: save it without these layers',
  ],
  [/^(STFT|Mel)/, 'compute spectrograms before the model: save it without these layers'],
  [/^ConvLSTM/, 'use TimeDistributed(Conv2D) and an LSTM'],
  [/^RandomCrop/, 'use CenterCrop'],
  [/^Lambda/, 'the function of a Lambda is Python code: write it with keras.ops'],
]

const requireKnown = (model: KerasModel): void => {
  const unknown = [...new Set(unknownLayers(model))]
  if (unknown.length === 0) return
  const shown = unknown.slice(0, 5).join(', ') + (unknown.length > 5 ? `, and ${unknown.length - 5} more` : '')
  const instead = INSTEAD.filter(([names]) => unknown.some((name) => names.test(name))).map(([, what]) => what)
  const absent = 'the code of custom layers is not in the file: build the model from standard layers and keras.ops'
  throw badRequest(
    `The model has layers without a conversion: ${shown}. Instead: ${(instead.length > 0 ? instead : [absent]).join('; ')}.`,
  )
}

export interface KerasOptions {
  /** The shape of the first input, including the batch; fixes its dynamic sizes. */
  readonly inputShape?: readonly number[]
  /** Another file of the same architecture, from which to take the weights. */
  readonly weights?: ByteSource
}

const convert = (source: ByteSource, options: KerasOptions): { model: OnnxModel; notes: string[] } => {
  const { config, version } = readKerasTexts(source)
  const model = parseModel(config)
  requireKnown(model)
  const builder = graphBuilder('keras')
  const scope: Scope = {
    builder,
    weights: kerasWeights(options.weights ?? source),
    isKeras2: /^2\./.test(version),
    notes: new Set(),
  }
  const inputs = inputsOf(model).map((input, at) => declaredInput(scope, input, at, options.inputShape))
  const outputs = runModel(scope, model, ROOT, inputs)
  outputs.forEach((value, at) => {
    const requested = outputs.length === 1 ? 'output' : `output_${at}`
    const name = inputs.some((input) => input.name === requested) ? `${requested}_` : requested
    const last = new LayerCall(scope, { className: 'Model', name: 'output', config: {} }, ROOT, []).last(value)
    const shape = value.shape.map((size) => (typeof size === 'number' || size === 'batch' ? size : ''))
    builder.output(name, last, value.type, shape)
  })
  return { model: builder.build(), notes: [...scope.notes] }
}

/**
 * Converts a Sequential or functional Keras model (`.keras`, `.h5` of Keras 2 and 3) to ONNX with the same inputs and
 * outputs, channels last. Executes nothing in the file. Throws bad_request naming the layer and what would work.
 */
export const kerasToOnnx = (source: ByteSource, options: KerasOptions = {}): { model: OnnxModel; notes: string[] } => {
  try {
    return convert(source, options)
  } catch (error) {
    if (error instanceof ServiceError || (error instanceof Error && 'syscall' in error)) throw error
    throw new ServiceError('bad_request', 'The Keras file is damaged. Save the model again with model.save(path).', {
      cause: error,
    })
  }
}
