import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { paths } from '../../client/client.ts'
import { isObject } from '../../domain/is-object.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { Failure } from '../failure.ts'
import { fileReason } from '../file-errors.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface VerifyOptions extends DataOptions {
  readonly heads?: string
  readonly org?: string
}

type Body = NonNullable<paths['/api/v1/audit/verify']['post']['requestBody']>['content']['application/json']
type Heads = NonNullable<Body['heads']>

const MAX_HEADS = 2000
const TIMEOUT_MS = 30 * 60_000

/** Null if the line is not a head. */
const headIn = (line: string): Heads[number] | null => {
  const head = jsonOrNull(line)
  return isObject(head) && 'signature' in head ? (head as Heads[number]) : null
}

/** Returns the head in each line; lines left incomplete by a full disk or a killed process are skipped and reported. */
const headsInLines = (path: string, text: string, note: (words: string) => void): Heads => {
  const heads: Heads = []
  const torn: number[] = []
  for (const [at, line] of text.split('\n').entries()) {
    const head = line.trim() === '' ? undefined : headIn(line)
    if (head === null) torn.push(at + 1)
    else if (head !== undefined) heads.push(head)
  }
  if (torn.length > 0 && heads.length === 0)
    throw new Failure(`${path} is not a file of signed heads: line ${torn[0]} is not a JSON head.`)
  if (torn.length > 0) note(`${path}: skipped lines that are not complete heads: ${torn.join(', ')}.`)
  return heads
}

/** Reads signed heads from audit-heads.jsonl or a response of GET /audit/head. Each organization's newest head comes first. */
const readHeads = async ({ io, out }: Session, path: string): Promise<Heads> => {
  const text = await readFile(resolve(io.cwd, path), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${path} cannot be read: ${fileReason(error) ?? error.message}.`, {
      advice: 'Use a copy of audit-heads.jsonl from the data folder of the service.',
    })
  })
  const whole = jsonOrNull(text)
  const isResponse = isObject(whole) && Array.isArray(whole.heads)
  const all = isResponse ? (whole.heads as Heads) : headsInLines(path, text, out.note)
  const heads = all.map(({ org_id, seq, hash, at, signature }) => ({ org_id, seq, hash, at, signature }))
  const newest = new Map(heads.map((head) => [head.org_id, head]))
  const others = heads.filter((head) => newest.get(head.org_id) !== head)
  return [...newest.values(), ...others.reverse()].slice(0, MAX_HEADS)
}

export const define = (command: Command, session: Session): void => {
  command
    .option('--heads <file>', 'signed heads kept elsewhere, such as audit-heads.jsonl; detects a truncated log')
    .option('--org <org_id>', 'one organization, for keys that see several')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ heads: path, org, json, apiBase }: VerifyOptions) => {
      const { out } = session
      const heads = path === undefined ? [] : await readHeads(session, path)
      const connection = await session.signedIn({ apiBase, timeoutMs: TIMEOUT_MS })
      const body = { heads, ...(org !== undefined && { org_id: org }) }
      const found = await connection.request((client) => client.POST('/api/v1/audit/verify', { body }))
      if (json) out.json(found)
      else {
        for (const chain of found.chains) {
          const of = `${chain.org_id ?? '(no organization)'}:`
          if (chain.fault !== null) out.line(`${of} ${chain.fault}`)
          else
            out.line(
              `${of} valid entries: ${chain.entries}, signed heads compared: ${chain.heads}` +
                (chain.last_seq > chain.entries ? `, deleted by retention: ${chain.last_seq - chain.entries}` : ''),
            )
        }
        if (path === undefined) out.note('Only --heads <file> detects a log that was truncated at its end.')
      }
      if (!found.valid)
        throw new Failure('The audit log was changed outside the service.', {
          advice:
            'Compare it with a backup, integrations, and exports. A restored backup lacks the entries made since.',
        })
      if (path !== undefined && found.chains.every((chain) => chain.heads === 0))
        throw new Failure(
          heads.length === 0
            ? `No head was compared: ${path} contains none.`
            : `No head was compared: those in ${path} belong to other organizations` +
                (found.chains.some(({ entries, last_seq }) => last_seq > entries)
                  ? ', or to entries deleted by retention.'
                  : '.'),
          {
            advice:
              'Use a copy of audit-heads.jsonl, or of a response of GET /api/v1/audit/head, of this organization.',
          },
        )
    })
}
