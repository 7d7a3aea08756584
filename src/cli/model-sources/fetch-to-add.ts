import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fetchModelFile, findModelParts } from '../../inference/sources/fetch-model.ts'
import { parseModelSource } from '../../inference/sources/model-source.ts'
import { showProgress } from '../progress.ts'
import type { Session } from '../session.ts'

interface Fetched {
  /** A file, or the folder if the model has several files. */
  readonly path: string
  readonly source: string
  /** Deletes the download after it has been copied. Interrupted downloads are kept and resumed. */
  discard(): Promise<void>
}

/** Downloads `hf:org/model` or `ollama:name` to a folder: a GGUF file, or the files of an ONNX model. @throws TransferError */
export const downloadParts = async (text: string, folder: string, { io, out }: Session): Promise<readonly string[]> => {
  const signal = io.signal ?? new AbortController().signal
  const paths: string[] = []
  for (const { place, found } of await findModelParts(parseModelSource(text), io.env, signal)) {
    for (const note of found.notes) out.note(note)
    const bar = showProgress(io, `Downloading ${place}`)
    try {
      paths.push(await fetchModelFile(found, join(folder, dirname(place)), { signal, progress: bar.update }))
    } finally {
      bar.end()
    }
  }
  return paths
}

/** Like `downloadParts`, but into a temporary folder to copy from. */
export const fetchToAdd = async (text: string, session: Session): Promise<Fetched> => {
  const mark = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const folder = join(session.home.folder, 'downloads', mark)
  const paths = await downloadParts(text, folder, session)
  return {
    path: paths.length === 1 ? paths[0]! : folder,
    source: text,
    discard: () => rm(folder, { recursive: true, force: true }),
  }
}
