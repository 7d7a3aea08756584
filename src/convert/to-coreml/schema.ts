// The messages of Core ML's model files other than layers (coremltools, mlmodel/format/Model.proto).
import { many, one } from '../protobuf/message.ts'
import { LAYERS } from './layer-schema.ts'
import { count, empty, held, integers, list, message } from './schema-fields.ts'

const tensor = message('Tensor', { rank: count(1), dimValue: integers(2) })
const layer = message('NeuralNetworkLayer', {
  name: one(1, 'string'),
  input: many(2, 'string'),
  output: many(3, 'string'),
  inputTensor: list(4, () => tensor),
  outputTensor: list(5, () => tensor),
  ...Object.fromEntries(Object.entries(LAYERS).map(([name, [number, type]]) => [name, held(number, () => type)])),
})

const stringVector = message('StringVector', { vector: many(1, 'string') })
const int64Vector = message('Int64Vector', { vector: integers(1) })
const network = {
  layers: list(1, () => layer),
  arrayInputShapeMapping: one(5, 'int32'),
  imageInputShapeMapping: one(6, 'int32'),
}
const neuralNetwork = message('NeuralNetwork', network)
const neuralNetworkClassifier = message('NeuralNetworkClassifier', {
  ...network,
  stringClassLabels: held(100, () => stringVector),
  int64ClassLabels: held(101, () => int64Vector),
  labelProbabilityLayerName: one(200, 'string'),
})

const arrayType = message('ArrayFeatureType', { shape: integers(1), dataType: one(2, 'int32') })
const dictionaryType = message('DictionaryFeatureType', {
  int64KeyType: held(1, () => empty),
  stringKeyType: held(2, () => empty),
})
const featureType = message('FeatureType', {
  int64Type: held(1, () => empty),
  doubleType: held(2, () => empty),
  stringType: held(3, () => empty),
  multiArrayType: held(5, () => arrayType),
  dictionaryType: held(6, () => dictionaryType),
})
const feature = message('FeatureDescription', {
  name: one(1, 'string'),
  shortDescription: one(2, 'string'),
  type: held(3, () => featureType),
})
const entry = message('MapEntry', { key: one(1, 'string'), value: one(2, 'string') })
const metadata = message('Metadata', {
  shortDescription: one(1, 'string'),
  author: one(3, 'string'),
  userDefined: list(100, () => entry),
})
const description = message('ModelDescription', {
  input: list(1, () => feature),
  output: list(10, () => feature),
  predictedFeatureName: one(11, 'string'),
  predictedProbabilitiesName: one(12, 'string'),
  metadata: held(100, () => metadata),
})

export const coremlModel = message('Model', {
  specificationVersion: one(1, 'int32'),
  description: held(2, () => description),
  neuralNetworkClassifier: held(403, () => neuralNetworkClassifier),
  neuralNetwork: held(500, () => neuralNetwork),
})
