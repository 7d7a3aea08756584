import { open } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { ApiError } from '../../client/client.ts'
import { toFailure } from '../connection.ts'
import { Failure } from '../failure.ts'
import { apiBaseOption } from '../options.ts'
import type { Session } from '../session.ts'
import { AUDIT_FILTERS } from './audit-filters.ts'

interface ExportOptions {
  readonly apiBase?: string
  readonly format: 'jsonl' | 'csv'
  readonly output?: string
}

const camel = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The log may be larger than memory: it is written as it comes. */
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
    const response = await fetch(`${baseUrl}/api/v1/audit/export?${query}`, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'error',
      ...(session.io.signal && { signal: session.io.signal }),
    })
    if (!response.ok || response.body === null)
      throw toFailure(new ApiError(response.status, await response.json().catch(() => null)), {
        baseUrl,
        keySource: source,
      })
    const text = response.body.pipeThrough(new TextDecoderStream())
    if (output === undefined) {
      for await (const part of text) session.io.stdout.write(part)
      return
    }
    const file = await open(output, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`${output} cannot be written (${error.code}).`, { advice: 'Name a file that does not exist.' })
    })
    try {
      for await (const part of text) await file.write(part)
    } finally {
      await file.close()
    }
    session.out.note(`Wrote ${output}.`)
  })
}
