import { type Command, Option } from 'commander'
import { jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import { METHODS, type QuantizeOptions } from './quantized-file.ts'

/** Shared with `svc push --quantize`. */
export const parseThreshold = numberFrom({ min: 0, max: 1, whole: false })

const NOTES = `
Methods:
  auto     the smallest result that meets the threshold (default: 0.99; GGUF without one: int4)
  int8     8-bit weights; ONNX: also 8-bit activations, with ranges measured on the samples
  int4     4-bit matrices in blocks of 32 (ONNX), 4-bit weights (Core ML), Q4_K_M (GGUF); not TFLite
  dynamic  8-bit weights, activations quantized at run time (ONNX, TFLite)
  float16  half precision
  f16, q8_0, q4_0, q4_k_m  this type of GGUF file

The quality is the mean cosine similarity with the original's outputs or, for classifiers, the share of samples with the
same class if that is lower. It is measured on --data, else on inputs generated from the shapes of the model's inputs.
Measuring needs an engine: svc engines install onnxruntime (ONNX, Core ML) or litert (TFLite).
For a .gguf file, the quality is exp(-d), where d is the mean KL divergence of next-token probabilities, on --data or a
built-in text.

Examples:
  svc quantize model.onnx --method auto --quality-threshold 0.98 --data samples.npz
  svc quantize model.gguf --quality-threshold 0.95 --data text.txt
  svc quantize ./models --method float16`

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model_path>', 'an .onnx, .tflite, .mlmodel, or .gguf file, an .mlpackage, or a folder of these')
    .addOption(new Option('-m, --method <method>', 'how to quantize').choices(METHODS).default('auto'))
    .option('-o, --output <path>', 'folder of the result, or its file name (default: quantized, next to the model)')
    .option('--quality-threshold <share>', 'write nothing below this quality, 0.0 to 1.0', parseThreshold)
    .option('--data <file>', 'samples to measure on: .npz (arrays by input name), .jsonl (one per line); GGUF: a text')
    .addOption(jsonOption())
    .addHelpText('after', NOTES)
    .action(async (path: string, options: QuantizeOptions & { readonly json?: boolean }) => {
      const { quantizeAndReport } = await import('./quantize.ts')
      await quantizeAndReport(path, options, session)
    })
}
