import { type Command, InvalidArgumentError } from 'commander'
import { apiBaseOption, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import type { ConvertOptions } from './convert-options.ts'
import { parseShape } from './parse-shape.ts'

const FORMATS = ['onnx', 'coreml', 'tflite', 'gguf']

export const parseFormats = (text: string): readonly string[] => {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !FORMATS.includes(name))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `'${unknown}' is not one of ${FORMATS.join(', ')}. Separate several with commas: onnx,tflite.`,
    )
  }
  return [...new Set(names)]
}

const NOTES = `
Nothing in the model's file is executed, and Python is not needed. Where engines are installed (svc engines install
onnxruntime, and litert for tflite), source and result are run on the same inputs, and the exit code is 1 if their
outputs differ by more than the tolerance. The output folder also gets report.json and report.txt.

Examples:
  svc convert model.onnx --formats tflite,coreml
  svc convert round-12.pt --architecture model.pt2 --formats onnx,tflite
  svc convert ./Qwen3-0.6B --formats gguf`

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model_path>', 'a model file; for gguf, a Hugging Face folder or a LoRA adapter')
    .option('-f, --formats <names>', 'formats to convert to: onnx, coreml, tflite, gguf', parseFormats, ['onnx'])
    .option('-o, --output <folder>', 'folder of the results', './converted')
    .option(
      '--input-shape <sizes>',
      "shape of the first input (default: the model's own; 1,3,224,224 for an image of dynamic size)",
      parseShape,
    )
    .option('--architecture <file>', 'the model (.pt2, .onnx, .keras) whose graph takes the weights of <model_path>')
    .option('--base <model>', 'base model of a LoRA adapter: a Hugging Face folder or a GGUF file')
    .option('--push', 'also upload the model to the catalog as its next version, in these formats')
    .option('--validate', 'compare the outputs of source and result', true)
    .option('--no-validate', 'do not compare outputs')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .addHelpText('after', NOTES)
    .action(async (path: string, options: ConvertOptions) => {
      const { convert } = await import('./convert.ts')
      await convert(path, options, session)
    })
}
