import type { Command } from 'commander'
import type { Session } from '../session.ts'
import { sizeWords } from './sizes.ts'

export const define = (command: Command, { out, home, io }: Session): void => {
  command
    .argument('<name>', "what to call it, or name:variant; the file's name tells the variant otherwise")
    .argument('<path>', 'a GGUF file, or the folder of an ONNX, MLX, MLC or MNN model; it is copied')
    .action(async (name: string, path: string) => {
      const { addModel } = await import('../../inference/models/change-models.ts')
      const added = await addModel(home.folder, { name, path, ...(io.signal && { signal: io.signal }) })
      out.line(`Added ${added.name} (${added.format}, ${sizeWords(added.bytes)}, sha256 ${added.sha256}).`)
      out.line(`Ask it: svc run ${added.name} "..."`)
    })
}
