// The messages of Core ML's model files other than layers, with the fields that are read or written here (coremltools,
// mlmodel/format/Model.proto).
import { many, one } from '../protobuf/message.ts'
import { LAYERS } from './layer-schema.ts'
import { count, integers, message } from './schema-fields.ts'

const tensor = message('Tensor', { rank: count(1), dimValue: integers(2) })
const layer = message('NeuralNetworkLayer', {
  name: one(1, 'string'),
  input: many(2, 'string'),
  output: many(3, 'string'),
  inputTensor: many(4, () => tensor),
  outputTensor: many(5, () => tensor),
  ...Object.fromEntries(Object.entries(LAYERS).map(([name, [number, type]]) => [name, one(number, () => type)])),
})

const network = { layers: many(1, () => layer), arrayInputShapeMapping: one(5, 'int32') }
const neuralNetwork = message('NeuralNetwork', network)
const neuralNetworkClassifier = message('NeuralNetworkClassifier', network)

const arrayType = message('ArrayFeatureType', { shape: integers(1), dataType: one(2, 'int32') })
const featureType = message('FeatureType', { multiArrayType: one(5, () => arrayType) })
const feature = message('FeatureDescription', { name: one(1, 'string'), type: one(3, () => featureType) })
const entry = message('MapEntry', { key: one(1, 'string'), value: one(2, 'string') })
const metadata = message('Metadata', { userDefined: many(100, () => entry) })
const description = message('ModelDescription', {
  input: many(1, () => feature),
  output: many(10, () => feature),
  metadata: one(100, () => metadata),
})

export const coremlModel = message('Model', {
  specificationVersion: one(1, 'int32'),
  description: one(2, () => description),
  neuralNetworkClassifier: one(403, () => neuralNetworkClassifier),
  neuralNetwork: one(500, () => neuralNetwork),
})
