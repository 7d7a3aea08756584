import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { ApiError } from '../../client/client.ts'
import { withAbortableBody } from '../../platform/transfer/abortable-body.ts'
import { connectionLost, requireType, toFailure } from '../connection.ts'
import { Failure } from '../failure.ts'
import { fileReason } from '../file-errors.ts'
import type { TextSink } from '../io.ts'
import { apiBaseOption } from '../options.ts'
import type { Session } from '../session.ts'
import { AUDIT_FILTERS } from './audit-filters.ts'

interface ExportOptions {
  readonly apiBase?: string
  readonly format: 'jsonl' | 'csv'
  readonly output?: string
}

const camel = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Streams the log, which may be larger than memory. @throws Failure, including if the connection breaks midway */
async function* download(
  { io: { signal } }: Session,
  url: string,
  { baseUrl, key, source }: { readonly baseUrl: string; readonly key: string; readonly source: string },
): AsyncGenerator<string> {
  const lost = (error: unknown): never => {
    signal.throwIfAborted()
    throw connectionLost(baseUrl, error)
  }
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(url, { headers, redirect: 'error', signal }).catch(lost)
  const response = signal ? withAbortableBody(answer, signal) : answer
  if (!response.ok || response.body === null) {
    const refused = new ApiError(response.status, await response.json().catch(() => null))
    throw toFailure(refused, { baseUrl, keySource: source })
  }
  requireType(baseUrl, response, /^(application\/x-ndjson|text\/csv)\b/)
  try {
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) yield part
  } catch (error) {
    lost(error)
  }
}

const printAll = async (sink: TextSink, text: AsyncIterable<string>): Promise<void> => {
  for await (const part of text) {
    if (sink.write(part) === false) await new Promise<void>((drained) => sink.once?.('drain', drained))
  }
}

/** Writes the whole file or none, so that a partial log is not mistaken for a complete one. */
const writeNew = async (path: string, text: AsyncIterable<string>): Promise<void> => {
  const refuse = (error: NodeJS.ErrnoException): never => {
    // For a new file, ENOENT means that its folder is missing.
    const reason = error.code === 'ENOENT' ? 'its folder does not exist' : (fileReason(error) ?? error.message)
    const advice = error.code === 'EEXIST' ? { advice: 'Choose a file that does not exist yet.' } : {}
    throw new Failure(`${path} cannot be written: ${reason}.`, { ...advice, cause: error })
  }
  const file = await open(path, 'wx', 0o600).catch(refuse)
  try {
    for await (const part of text) await file.write(part).catch(refuse)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .addOption(new Option('--format <format>', 'JSON lines or CSV').choices(['jsonl', 'csv']).default('jsonl'))
    .option('-o, --output <path>', 'a new file, instead of the terminal')
  for (const { flags, help, choices } of AUDIT_FILTERS)
    command.addOption(choices === undefined ? new Option(flags, help) : new Option(flags, help).choices([...choices]))
  command.addOption(apiBaseOption()).action(async ({ format, output, apiBase }: ExportOptions) => {
    const { baseUrl } = await session.signedIn({ apiBase })
    const query = new URLSearchParams({ format })
    for (const { flags, field } of AUDIT_FILTERS) {
      const value = command.opts()[camel(/--([\w-]+)/.exec(flags)![1]!)] as string | undefined
      if (value !== undefined) query.set(field, value)
    }
    const { key, source } = (await session.apiKey(baseUrl))!
    const text = download(session, `${baseUrl}/api/v1/audit/export?${query}`, { baseUrl, key, source })
    if (output === undefined) return printAll(session.io.stdout, text)
    await writeNew(resolve(session.io.cwd, output), text)
    session.out.note(`Wrote ${output}.`)
  })
}
