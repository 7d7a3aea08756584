import { type Command, InvalidArgumentError, Option } from 'commander'
import { CONVERTED_FORMATS, type ConvertedFormat, isUuid, requireSemantic } from '../../domain/model.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { sizeWords } from '../sizes.ts'

interface PushCommandOptions extends DataOptions {
  readonly version: string
  readonly modelId?: string
  readonly formats?: readonly ConvertedFormat[]
  readonly quantize?: string
  readonly qualityThreshold?: number
}

const METHODS = ['auto', 'int8', 'int4', 'dynamic', 'float16'] as const

const NOTES = `
Environment:
  HF_TOKEN         Hugging Face token, for private and gated models
  HF_ENDPOINT      address of a Hugging Face mirror
  OLLAMA_REGISTRY  address of an Ollama registry; if unset, models that Ollama has pulled here are used first
  OLLAMA_MODELS    folder of the models that Ollama has pulled`

const parseVersion = (text: string): string => {
  try {
    requireSemantic(text)
    return text
  } catch {
    throw new InvalidArgumentError('It must be a semantic version such as 1.4.0.')
  }
}

const parseFormats = (text: string): readonly ConvertedFormat[] =>
  text.split(',').map((name) => {
    const format = CONVERTED_FORMATS.find((one) => one === name.trim())
    if (format !== undefined) return format
    throw new InvalidArgumentError(`'${name}' is none of ${CONVERTED_FORMATS.join(', ')}. Several: onnx,tflite.`)
  })

const parseThreshold = (text: string): number => {
  const share = Number(text)
  if (text.trim() !== '' && share >= 0 && share <= 1) return share
  throw new InvalidArgumentError('It must be a number from 0.0 to 1.0.')
}

const requireNoQuantizing = ({ quantize, qualityThreshold }: PushCommandOptions): void => {
  if (quantize !== undefined) {
    throw new Failure(`Quantizing (${quantize}) is not available yet: nothing was pushed.`, {
      advice:
        'Leave out --quantize to push the file as it is. Many models on Hugging Face are available already quantized.',
    })
  }
  if (qualityThreshold !== undefined) {
    throw wrongUsage('--quality-threshold needs --quantize.')
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[source]',
      'a file, a local model, hf:<org>/<model> or ollama:<name> (default: the model file in this folder)',
    )
    .requiredOption('-v, --version <version>', 'semantic version of the upload, such as 1.4.0', parseVersion)
    .option('-m, --model-id <model>', 'model in the catalog, by name or id (default: derived from the file name)')
    .option('--formats <names>', 'formats for the service to convert it to: onnx, tflite, coreml', parseFormats)
    .addOption(new Option('-q, --quantize <method>', 'quantize before uploading (not available yet)').choices(METHODS))
    .option(
      '--quality-threshold <share>',
      'minimum quality after quantization, 0.0 to 1.0 (not available yet)',
      parseThreshold,
    )
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .addHelpText('after', NOTES)
    .action(async (source: string | undefined, options: PushCommandOptions) => {
      const { out } = session
      requireNoQuantizing(options)
      const { requireModelName, whatToPush } = await import('./what-to-push.ts')
      const { modelId, formats } = options
      if (modelId !== undefined && !isUuid(modelId)) requireModelName(modelId, '--model-id')
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const pushed = await whatToPush(source, session)
      const model = modelId ?? requireModelName(pushed.name, 'file')
      const { push } = await import('./push.ts')
      const done = await push(
        pushed,
        { connection, model, version: options.version, ...(formats && { formats }) },
        session,
      )
      for (const warning of done.warnings) out.note(warning)
      if (done.wasThere) out.note('This version already exists with the same contents.')
      const { version } = done
      if (options.json) {
        return out.json({
          model_id: done.model.id,
          model_name: done.model.name,
          ...version,
          already_there: done.wasThere,
        })
      }
      out.fields([
        ['Model', done.model.name],
        ['Model id', done.model.id],
        ['Version', `${version.version_label} (number ${version.version})`],
        ['Format', version.format],
        ['Size', sizeWords(version.model_size_bytes)],
        ['Hash', version.model_hash],
      ])
    })
}
