import { listModels } from '../../inference/models/model-folder.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { ollamaBlobs, ollamaModels } from './ollama.ts'

/** A model from any source. */
export interface KnownModel {
  readonly source: 'local' | 'ollama' | 'registry'
  readonly name: string
  /** Variant, quantization, or format, depending on the source. */
  readonly kind: string | null
  readonly bytes: number | null
}

export interface Request {
  readonly models: readonly KnownModel[]
  /** Remarks about this source for the user. */
  readonly notes: readonly string[]
}

const local = async ({ home }: Session): Promise<Request> => {
  const listed = await listModels(home.folder)
  return {
    models: listed.flatMap((entry) =>
      entry.state === 'ready'
        ? [{ source: 'local' as const, name: entry.model.name, kind: entry.model.variant, bytes: entry.model.bytes }]
        : [],
    ),
    notes: listed.flatMap((entry) => (entry.state === 'damaged' ? [`${entry.name} is damaged: ${entry.fault}.`] : [])),
  }
}

const ollama = async ({ io }: Session): Promise<Request> => {
  const models = await ollamaModels(io.env, io.signal)
  const blobs = await ollamaBlobs(io.env)
  return {
    models: models.map(({ name, bytes, quantization }) => ({ source: 'ollama', name, kind: quantization, bytes })),
    notes:
      models.length === 0
        ? ['Ollama has no models. Download one with: ollama pull <name>']
        : blobs === null
          ? []
          : [`Ollama keeps the files of its models in ${blobs}.`],
  }
}

/** The service's maximum page size. */
const PAGE = 100

const registry = async (session: Session, q: string, apiBase: string | undefined): Promise<Request> => {
  const connection = await session.signedIn({ apiBase })
  const models: KnownModel[] = []
  for (;;) {
    const query = { limit: PAGE, offset: models.length, q, round_models: false }
    const page = await connection.request((client) => client.GET('/api/v1/models', { params: { query } }))
    for (const { id, name, framework, model_size_bytes: bytes } of page.models)
      models.push({ source: 'registry', name: name ?? id, kind: framework, bytes })
    if (page.models.length === 0 || models.length >= page.total) {
      const isEmpty = models.length === 0 && q === ''
      return {
        models,
        notes: isEmpty ? [`The catalog of ${connection.baseUrl} has no models. Add one with: svc push`] : [],
      }
    }
  }
}

const adviceOf = ({ advice }: Failure) => (advice === undefined ? {} : { advice })

export const SOURCES = ['all', 'ollama', 'registry'] as const

export type SourceName = (typeof SOURCES)[number]

/**
 * Queries the sources in parallel. If one fails, it becomes a note, because the others may still answer.
 * @throws Failure if it was the only source
 */
export const querySources = async (
  session: Session,
  source: SourceName,
  search: string,
  apiBase?: string,
): Promise<Request> => {
  const all = source === 'all'
  const requested: readonly (readonly [name: string, Promise<Request>])[] = [
    ...(all ? [['The models folder', local(session)] as const] : []),
    ...(all || source === 'ollama' ? [['Ollama', ollama(session)] as const] : []),
    ...(all || source === 'registry' ? [['The catalog', registry(session, search, apiBase)] as const] : []),
  ]
  const responses = await Promise.all(
    requested.map(async ([name, response]): Promise<Request> => {
      try {
        return await response
      } catch (error) {
        session.io.signal.throwIfAborted()
        const reason = (error as Error).message
        const message = `${name} cannot be listed: ${reason}${/[.?!]$/.test(reason) ? '' : '.'}`
        if (!all) throw new Failure(message, { cause: error, ...(error instanceof Failure && adviceOf(error)) })
        return { models: [], notes: [message] }
      }
    }),
  )
  const models = responses.flatMap((response) => response.models)
  const isFound = ({ name }: KnownModel): boolean => name.toLowerCase().includes(search.toLowerCase())
  return { models: models.filter(isFound), notes: responses.flatMap(({ notes }) => notes) }
}
