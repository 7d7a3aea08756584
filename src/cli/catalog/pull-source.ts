import { resolve } from 'node:path'
import { sizeWords } from '../../domain/sizes.ts'
import { downloadParts } from '../model-sources/fetch-to-add.ts'
import { ensureLocal } from '../model-sources/local-model.ts'
import type { Session } from '../session.ts'

/**
 * Downloads a Hugging Face or Ollama model without the service: to the models folder, or its files to `output`. Resumes an
 * interrupted download and verifies hashes.
 */
export const pullSource = async (
  source: string,
  { output, json }: { readonly output: string | null; readonly json: boolean },
  session: Session,
): Promise<void> => {
  const { io, out } = session
  if (output !== null) {
    const folder = resolve(io.cwd, output)
    const paths = await downloadParts(source, folder, session)
    if (json) return out.json({ source, paths })
    return out.fields(paths.map((path) => ['File', path]))
  }
  const { model, wasThere } = await ensureLocal(source, session)
  if (wasThere) out.note('It was already there.')
  const { name, path, bytes, sha256 } = model
  if (json)
    return out.json({
      source,
      name,
      path,
      model_size_bytes: bytes,
      model_hash: `sha256:${sha256}`,
      already_there: wasThere,
    })
  out.fields([
    ['Model', name],
    ['File', path],
    ['Size', sizeWords(bytes)],
    ['Hash', `sha256:${sha256}`],
  ])
}
