import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  CONVERTED_FORMATS,
  type ConvertedFormat,
  isUuid,
  requireSemantic,
  SEMANTIC_VERSION,
} from '../../domain/model.ts'
import { sizeWords } from '../../domain/sizes.ts'
import type { Metadata } from '../../domain/version-metadata.ts'
import { clearLeftovers, growingIn } from '../../inference/whole-folder.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { wrongUsage } from '../failure.ts'
import { parseThreshold } from '../model-tools/quantize.command.ts'
import { METHODS, type Method } from '../model-tools/quantized-file.ts'
import { metadataOption } from '../models/metadata-option.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import type { Pushed } from '../uploads/push-source.ts'

interface PushCommandOptions extends DataOptions {
  readonly version: string
  readonly modelId?: string
  readonly formats?: readonly ConvertedFormat[]
  readonly quantize?: Method
  readonly qualityThreshold?: number
  readonly meta?: Metadata
}

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
    throw new InvalidArgumentError(`It must be ${SEMANTIC_VERSION}.`)
  }
}

const parseFormats = (text: string): readonly ConvertedFormat[] =>
  text.split(',').map((name) => {
    const format = CONVERTED_FORMATS.find((one) => one === name.trim())
    if (format !== undefined) return format
    throw new InvalidArgumentError(
      `'${name}' is not one of ${CONVERTED_FORMATS.join(', ')}. Separate several with commas: onnx,tflite.`,
    )
  })

/** Quantizes the file into a separate folder, which `discard` deletes. Returns the file unchanged if `quantize` is not set. */
const quantized = async (
  pushed: Pushed,
  { quantize, qualityThreshold, json }: PushCommandOptions,
  session: Session,
): Promise<{ readonly file: Pushed; readonly discard: () => Promise<void> }> => {
  if (quantize === undefined) return { file: pushed, discard: async () => undefined }
  const { nameOf, quantizeFile } = await import('../model-tools/quantize.ts')
  const root = session.home.folder
  const folder = growingIn(root)
  await makeFolder(folder, 0o700)
  await clearLeftovers(root)
  const discard = () => rm(folder, { recursive: true, force: true })
  const options = { method: quantize, ...(qualityThreshold !== undefined && { qualityThreshold }) }
  const place = (method: string): string => join(folder, nameOf(pushed.fileName, method))
  try {
    const source = { source: pushed.path, fileName: pushed.fileName }
    const { output, method } = await quantizeFile(source, options, place, session, json)
    const description = `${pushed.description ? `${pushed.description}, q` : 'Q'}uantized: ${method}`
    if (pushed.isOurs) await rm(dirname(pushed.path), { recursive: true, force: true })
    return { file: { ...pushed, path: output, fileName: basename(output), description, isOurs: false }, discard }
  } catch (error) {
    await discard()
    throw error
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[source]',
      'a file, a local model, hf:<org>/<model>, or ollama:<name> (default: the model file in this folder)',
    )
    .requiredOption('-v, --version <version>', 'semantic version of the upload, such as 1.4.0', parseVersion)
    .option('-m, --model-id <model>', 'model in the catalog, by name or id (default: derived from the file name)')
    .option('--formats <names>', 'formats for the service to convert it to: onnx, tflite, coreml', parseFormats)
    .addOption(
      new Option('-q, --quantize <method>', 'quantize before uploading, as svc quantize does').choices(METHODS),
    )
    .option('--quality-threshold <share>', 'do not push below this quality, 0.0 to 1.0', parseThreshold)
    .addOption(metadataOption())
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .addHelpText('after', NOTES)
    .action(async (source: string | undefined, options: PushCommandOptions) => {
      const { out } = session
      if (options.qualityThreshold !== undefined && options.quantize === undefined) {
        throw wrongUsage('--quality-threshold needs --quantize.')
      }
      const { requireModelName, pushSourceOf } = await import('../uploads/push-source.ts')
      const { modelId, formats } = options
      if (modelId !== undefined && !isUuid(modelId)) requireModelName(modelId, '--model-id')
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const pushed = await pushSourceOf(source, session)
      const model = modelId ?? requireModelName(pushed.name, 'file')
      const { push } = await import('../uploads/push.ts')
      const { file, discard } = await quantized(pushed, options, session)
      const { meta: metadata = {} } = options
      const request = { connection, model, version: options.version, metadata, ...(formats && { formats }) }
      const done = await push(file, request, session).finally(discard)
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
