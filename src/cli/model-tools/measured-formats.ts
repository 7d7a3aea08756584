import type { OnnxModel } from '../../convert/onnx/model.ts'
import { readOnnx } from '../../convert/onnx/read-onnx.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { foldWeights } from '../../convert/quantize/fold-weights.ts'
import type { ValueRange } from '../../convert/quantize/integer-graph.ts'
import { COREML_METHODS, type CoremlMethod, quantizeCoreml } from '../../convert/quantize/quantize-coreml.ts'
import { ONNX_METHODS, type OnnxMethod, quantizeOnnx } from '../../convert/quantize/quantize-onnx.ts'
import { quantizeTflite, TFLITE_METHODS, type TfliteMethod } from '../../convert/quantize/quantize-tflite.ts'
import { COREML_COMPUTED, coremlToOnnx } from '../../convert/to-coreml/coreml-to-onnx.ts'
import { tfliteOutline } from '../../convert/to-tflite/tflite-outline.ts'
import type { GraphFormat } from '../../inference/engines/onnx/run-graph.ts'

/** Returns the value ranges that int8 needs, measured on the samples; empty without a capable engine. */
export type Calibrate = (model: OnnxModel) => Promise<ReadonlyMap<string, ValueRange>>

/** A model format for which an engine can run models before and after quantization. */
export interface MeasuredFormat {
  readonly engine: GraphFormat
  readonly methods: readonly string[]
  /** What `auto` uses if nothing can be measured. If undefined, `auto` needs the engine. */
  readonly unmeasured?: string
  /** The model from which samples are generated and classifiers recognized. */
  outline(bytes: Uint8Array): OnnxModel
  /** The bytes that the engine runs, if not the file itself; `note` tells the user about it. */
  executable?(bytes: Uint8Array): Uint8Array
  readonly note?: string
  quantize(
    bytes: Uint8Array,
    method: string,
    calibrate: Calibrate,
  ): Promise<{ readonly bytes: Uint8Array; readonly notes: readonly string[] }>
}

export const MEASURED_FORMATS = {
  onnx: {
    engine: 'onnx',
    methods: ONNX_METHODS,
    outline: readOnnx,
    quantize: async (bytes, method, calibrate) => {
      const source = readOnnx(bytes)
      // float16 halves weights in any form; folding could store shared weights twice.
      const model = method === 'float16' ? source : foldWeights(source)
      const ranges = method === 'int8' ? await calibrate(model) : new Map()
      const quantized = quantizeOnnx(model, method as OnnxMethod, { ranges })
      const notes = [...quantized.notes]
      if (method === 'int8' && ranges.size === 0)
        notes.push(
          'int8 quantized only the weights, because the ranges of activations were not measured (that needs onnxruntime).',
        )
      return { bytes: writeOnnx(quantized.model), notes }
    },
  },
  tflite: {
    engine: 'tflite',
    methods: TFLITE_METHODS,
    unmeasured: 'dynamic',
    outline: tfliteOutline,
    quantize: async (bytes, method) => quantizeTflite(bytes, method as TfliteMethod),
  },
  coreml: {
    engine: 'onnx',
    methods: COREML_METHODS,
    unmeasured: 'float16',
    outline: coremlToOnnx,
    executable: (bytes) => writeOnnx(coremlToOnnx(bytes)),
    note: `The quality is ${COREML_COMPUTED}.`,
    quantize: async (bytes, method) => quantizeCoreml(bytes, method as CoremlMethod),
  },
} as const satisfies Readonly<Record<string, MeasuredFormat>>
