import { resolve } from 'node:path'
import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  const { out, home, io } = session
  command
    .argument('<name>', 'name of the model, or name:variant (default variant: from the file name)')
    .argument(
      '<path>',
      'a GGUF file, the folder of an ONNX, MLX, MLC, or MNN model, hf:org/model, or ollama:name; files are copied',
    )
    .action(async (name: string, path: string) => {
      const { addModel } = await import('../../inference/models/change-models.ts')
      const { isModelSource } = await import('../../inference/sources/model-source.ts')
      const added = isModelSource(path)
        ? await (await import('../model-sources/fetch-to-add.ts')).fetchToAdd(name, path, session)
        : await addModel(home.folder, { name, path: resolve(io.cwd, path), signal: io.signal })
      const verb = added.isReplacement ? 'Replaced' : 'Added'
      out.line(`${verb} ${added.name} (${added.format}, ${sizeWords(added.bytes)}, sha256 ${added.sha256}).`)
      if (added.format === 'gguf') out.line(`Try it: svc run ${added.name} "..."`)
    })
}
