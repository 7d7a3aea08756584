import { type Command, Option } from 'commander'
import type { DownloadFormat } from '../../domain/model.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { isModelSource } from '../../inference/sources/model-source.ts'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface PullCommandOptions extends DataOptions {
  readonly version: string
  readonly format?: DownloadFormat
  readonly output: string
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a model in the catalog, by name or id; name@version, hf:org/model, or ollama:name')
    .option('-v, --version <version>', 'version, alias, or latest', 'latest')
    .addOption(
      new Option(
        '--format <format>',
        'format to pull; converted by the service where needed (default: as uploaded)',
      ).choices(['onnx', 'coreml', 'tflite']),
    )
    .option(
      '-o, --output <path>',
      'destination folder or file; without it, hf: and ollama: models go to the models folder',
      '.',
    )
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { version: requested, format, output, json, apiBase }: PullCommandOptions) => {
      const { out } = session
      if (isModelSource(name)) {
        const given = (option: string): boolean => command.getOptionValueSource(option) === 'cli'
        if (given('version') || given('format'))
          throw wrongUsage(
            '--version and --format are for models in the catalog.',
            'For example: svc pull hf:org/model:q4_k_m',
          )
        const { pullSource } = await import('./pull-source.ts')
        return pullSource(name, { output: given('output') ? output : null, json: json === true }, session)
      }
      const connection = await session.signedIn({ apiBase })
      const { knownModel, referenced, requireVersion } = await import('../model-sources/catalog.ts')
      const meant = await referenced(connection, name, requested)
      const model = await knownModel(connection, meant.name)
      const version = requireVersion(model, meant.name, meant.version)
      const { pull } = await import('../model-sources/pull.ts')
      const pulled = await pull({ connection, modelId: model.id, version, format, output }, session)
      if (pulled.wasThere) out.note('It was already there.')
      if (json) {
        return out.json({
          model_id: model.id,
          version: version.version,
          version_label: version.version_label,
          path: pulled.path,
          model_size_bytes: pulled.bytes,
          model_hash: `sha256:${pulled.sha256}`,
          already_there: pulled.wasThere,
        })
      }
      out.fields([
        ['File', pulled.path],
        ['Version', version.version_label],
        ['Size', sizeWords(pulled.bytes)],
        ['Hash', `sha256:${pulled.sha256}`],
      ])
    })
}
