import { readFileSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { InferenceError } from '../inference/errors.ts'
import { bytesSource } from '../tensors/sources.ts'
import { tfliteProfile } from './check/tflite-profile.ts'
import { convertModel } from './convert.ts'
import { mutationsOf } from './mutations.fixture.ts'
import { readOnnx } from './onnx/read-onnx.ts'
import { quantizeTflite } from './quantize/quantize-tflite.ts'
import { onnxToTflite } from './to-tflite/onnx-to-tflite.ts'

const fixture = (path: string): Uint8Array => readFileSync(`test/fixtures/${path}`)

const convert = (bytes: Uint8Array) =>
  convertModel(bytesSource(bytes), { fileName: 'model', formats: ['onnx', 'tflite', 'coreml'] })

const quantize = (bytes: Uint8Array) => {
  tfliteProfile(bytes)
  quantizeTflite(bytes, 'int8')
}

// Damage to scikit-learn and XGBoost files is covered by their own tests.
it.each([
  ['from-torch/cnn.pt2', fixture('from-torch/cnn.pt2'), convert],
  ['from-torch/recurrent.pt2', fixture('from-torch/recurrent.pt2'), convert],
  ['from-keras/keras2-gzip.h5', fixture('from-keras/keras2-gzip.h5'), convert],
  ['from-keras/masks.keras', fixture('from-keras/masks.keras'), convert],
  ['a compressed joblib file', deflateSync(fixture('frameworks/logistic_a.joblib')), convert],
  ['tflite/text.onnx', fixture('tflite/text.onnx'), convert],
  ['a TFLite model', onnxToTflite(readOnnx(fixture('tflite/text.onnx'))).bytes, quantize],
] as const)('%s with changed bytes is accepted, or refused with the reason', (_, whole, take) => {
  for (const [at, bytes] of [...mutationsOf(whole, 25)].entries()) {
    try {
      take(bytes)
    } catch (error) {
      if (error instanceof InferenceError || (error as { code?: string }).code === 'bad_request') continue
      throw new Error(`Mutation ${at}`, { cause: error })
    }
  }
  expect(() => take(whole)).not.toThrow()
})
