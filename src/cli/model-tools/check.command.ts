import type { Command } from 'commander'
import { parseNames } from '../inference/inference-options.ts'
import { jsonOption, wholeAboveZero } from '../options.ts'
import type { Session } from '../session.ts'
import type { CheckOptions } from './check.ts'
import { parseShape } from './parse-shape.ts'

const NOTES = `
Speeds are estimated from memory bandwidth and processor throughput. "this" is this machine; its bandwidth is measured.
With --devices, the exit code is 1 if the model does not run on one of them.

Examples:
  svc check model.gguf
  svc check model.onnx --devices pi-5,iphone-13 --input-shape 1,3,224,224
  svc check model.gguf --devices this --context 16384`

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model_path>', 'a model file: .gguf, .onnx, .tflite, or weights such as .safetensors and .pt')
    .option('-d, --devices <names>', 'device profiles, such as pi-5,this (default: all)', parseNames)
    .option('--input-shape <sizes>', 'shape of the first input (default: dynamic sizes are 1)', parseShape)
    .option(
      '--context <tokens>',
      "context length of a language model, in tokens (default: 4096, or the model's own if less)",
      wholeAboveZero,
    )
    .addOption(jsonOption())
    .addHelpText('after', NOTES)
    .action(async (path: string, options: CheckOptions) => {
      const { check } = await import('./check.ts')
      await check(path, options, session)
    })
}
